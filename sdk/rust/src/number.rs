//! The text forms of numbers in a configuration. They are integers from end to end.

use crate::units::{HOUR, MILLISECOND, MINUTE, ONE, SECOND};
use crate::Line;

/// How a number is written.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Int,
    Duration,
    Ratio,
}

impl Kind {
    pub fn parse(self, s: &str) -> Result<i64, &'static str> {
        // Of bytes: what slices a &str brings the text of its panics into every module.
        let s = s.as_bytes();
        match self {
            Kind::Int => int(s).ok_or("not a whole number"),
            Kind::Duration => duration(s).ok_or("not a duration: write it like 2s, 500ms or 1m30s"),
            Kind::Ratio => ratio(s).ok_or("not a ratio: write it like 0.9 or 90%"),
        }
    }

    pub fn write(self, to: &mut Line, x: i64) {
        match self {
            Kind::Int => to.number(x),
            Kind::Duration => write_duration(to, x),
            Kind::Ratio => write_ratio(to, x),
        }
    }
}

const UNITS: [(&str, i64); 6] = [
    ("h", HOUR),
    ("m", MINUTE),
    ("s", SECOND),
    ("ms", MILLISECOND),
    ("us", 1000),
    ("ns", 1),
];

fn int(s: &[u8]) -> Option<i64> {
    let (digits, sign) = match s {
        [b'-', rest @ ..] => (rest, -1),
        _ => (s, 1),
    };
    match leading_int(digits)? {
        (x, []) => Some(x * sign),
        _ => None,
    }
}

fn duration(mut s: &[u8]) -> Option<i64> {
    if s == b"0" {
        return Some(0);
    }
    if s.is_empty() {
        return None;
    }
    let mut sum = 0i64;
    while !s.is_empty() {
        let (num, rest) = span(s, |c| c == b'.' || c.is_ascii_digit());
        let (unit, rest) = span(rest, |c| c.is_ascii_lowercase());
        let (_, ns) = UNITS.iter().find(|(name, _)| name.as_bytes() == unit)?;
        sum = sum.checked_add(scaled(num, *ns)?)?;
        s = rest;
    }
    Some(sum)
}

fn ratio(s: &[u8]) -> Option<i64> {
    match s {
        [cents @ .., b'%'] => scaled(cents, ONE / 100),
        _ => scaled(s, ONE),
    }
}

/// Reads a decimal such as 1.25 and returns it times `unit`, cut off below 1.
fn scaled(s: &[u8], unit: i64) -> Option<i64> {
    let (whole, rest) = leading_int(s)?;
    let mut x = whole.checked_mul(unit)?;
    let digits = match rest {
        [] => return Some(x),
        [b'.', digits @ ..] if !digits.is_empty() => digits,
        _ => return None,
    };
    // Each digit has a tenth of the unit's remaining part. What divides no further is dropped.
    let mut part = unit;
    for &c in digits {
        if !c.is_ascii_digit() {
            return None;
        }
        part /= 10;
        x = x.checked_add(i64::from(c - b'0') * part)?;
    }
    Some(x)
}

fn leading_int(s: &[u8]) -> Option<(i64, &[u8])> {
    let (digits, rest) = span(s, |c| c.is_ascii_digit());
    if digits.is_empty() {
        return None;
    }
    let mut x = 0i64;
    for c in digits {
        x = x.checked_mul(10)?.checked_add(i64::from(c - b'0'))?;
    }
    Some((x, rest))
}

fn span(s: &[u8], within: fn(u8) -> bool) -> (&[u8], &[u8]) {
    s.split_at(s.iter().position(|&c| !within(c)).unwrap_or(s.len()))
}

/// Uses the largest unit that leaves a whole number.
fn write_duration(to: &mut Line, ns: i64) {
    for (name, unit) in UNITS {
        if ns != 0 && ns % unit == 0 {
            to.number(ns / unit);
            to.text(name);
            return;
        }
    }
    to.number(ns);
}

fn write_ratio(to: &mut Line, ppm: i64) {
    to.number(ppm / ONE);
    let (mut part, mut digit) = (ppm % ONE, ONE / 10);
    if part > 0 {
        to.byte(b'.');
    }
    while part > 0 {
        to.byte(b'0' + (part / digit) as u8);
        part %= digit;
        digit /= 10;
    }
}
