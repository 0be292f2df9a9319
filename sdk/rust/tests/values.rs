//! What the SDK hands to a policy and takes from it, beside what the vectors cover.

use sluice_policy::testing::Tester;
use sluice_policy::*;

/// Draws numbers: xorshift, from a fixed seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A verdict limits nothing that it was not told to limit.
#[test]
fn verdicts_are_neutral() {
    for v in [
        Verdict::abstain(),
        Verdict::admit(),
        Verdict::degrade(),
        Verdict::reject(503, Reason::QUEUE_AGE),
    ] {
        let neutral = Verdict {
            action: v.action,
            status: v.status,
            reason: v.reason,
            class_override: -1,
            speculation_cap: -1,
            ..Verdict::ZERO
        };
        assert_eq!(v, neutral);
    }
}

/// Times are rounded up: a client that comes back a millisecond early is rejected again.
#[test]
fn verdict_times_round_up() {
    for (ns, ms) in [
        (-1, 0),
        (0, 0),
        (1, 1),
        (MILLISECOND, 1),
        (MILLISECOND + 1, 2),
        (SECOND, 1000),
        (i64::MAX, u32::MAX),
    ] {
        let v = Verdict::reject(429, Reason::CAPACITY).retry_after(ns).queue_ttl(ns);
        assert_eq!((v.retry_after_ms, v.queue_ttl_ms), (ms, ms), "{} ns", ns);
    }
}

#[test]
fn verdicts_hold_what_they_were_told() {
    let v = Verdict::degrade()
        .max_tokens(7)
        .speculation(-3)
        .class(35)
        .priority(-2)
        .because(Reason::QUOTA);
    assert_eq!((v.max_tokens_cap, v.speculation_cap, v.class_override), (7, 0, 3));
    assert_eq!((v.priority_override, v.has_priority, v.reason.name()), (-2, 1, "quota"));
}

#[test]
fn optional_fields_are_absent_until_they_have_a_value() {
    let st = State {
        valid: !(1 << 17),
        ..State::ZERO
    };
    assert_eq!(State::ZERO.itl_p95_ns(), None);
    assert_eq!(State::ZERO.with_itl_p95_ns(5).itl_p95_ns(), Some(5));
    assert_eq!(State::ZERO.with_itl_p95_ns(5).ttft_p95_ns(), None);
    assert_eq!(st.itl_p95_ns(), Some(0));
    assert_eq!(Row::ZERO.with_score(-4).score(), Some(-4));
}

#[test]
fn rows_and_rankings_read_as_they_are() {
    let row = Row {
        class: 255,
        phase: Phase::QUEUED,
        ..Row::ZERO
    };
    assert!(row.is(Phase::QUEUED) && !row.is(Phase::RUNNING));
    assert_eq!(row.class_index(), 15);
    assert_eq!((row.phase.name(), Phase(99).name()), ("queued", "unknown"));
    let mut rank = Ranking::ZERO;
    rank.allow(RankFlag::PROTECTED);
    rank.allow(RankFlag::PINNED);
    assert!(rank.flags.has(RankFlag::PROTECTED | RankFlag::PINNED) && !rank.flags.has(RankFlag::MAY_PREEMPT));
}

#[test]
fn saved_state_that_does_not_fit_is_not_kept() {
    let mut to = Writer::new();
    to.slice(&[7; SAVE_ROOM - 1]);
    assert_eq!((to.bytes().len(), to.is_full()), (SAVE_ROOM - 1, false));
    to.u16(1);
    assert_eq!((to.bytes(), to.is_full()), (&[][..], true));
}

#[test]
fn saved_state_is_read_as_it_was_written() {
    let mut to = Writer::new();
    to.u8(1);
    to.u16(2);
    to.u32(3);
    to.u64(4);
    to.i64(-5);
    let mut from = Reader::new(to.bytes());
    assert_eq!(
        (from.u8(), from.u16(), from.u32(), from.u64(), from.i64()),
        (Some(1), Some(2), Some(3), Some(4), Some(-5))
    );
    assert_eq!((from.len(), from.u8(), from.slice(0)), (0, None, Some(&[][..])));
}

#[test]
fn a_line_is_cut_at_its_end_and_reads_as_text() {
    use std::fmt::Write;
    let mut line = Line::new();
    write!(line, "{}é{}", "x".repeat(511), 1).unwrap();
    assert_eq!(line.bytes().len(), 512);
    assert_eq!(line.to_string(), "x".repeat(511) + "\u{fffd}");
}

/// Reads one setting.
struct Echo(String);

impl Policy for Echo {
    const NEW: Echo = Echo(String::new());
}

impl Configure for Echo {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        self.0 = c.string("text", "").to_string();
        if self.0.len() > 1000 {
            c.refuse(format_args!("{} bytes are too many", self.0.len()));
        }
        Ok(())
    }
}

#[test]
fn settings_arrive_as_they_were_given() {
    let mut draw = Draw(1);
    for _ in 0..2000 {
        let text: String = (0..draw.below(20))
            .filter_map(|_| char::from_u32(draw.below(0x900) as u32))
            .collect();
        assert_eq!(Tester::<Echo>::with(&[("text", &text)]).unwrap().policy.0, text);
    }
    let long = "x".repeat(1001);
    assert_eq!(
        Tester::<Echo>::with(&[("text", &long)]).err().unwrap(),
        "1001 bytes are too many"
    );
}

/// Whatever the bytes are, they are read or refused with a reason.
#[test]
fn any_bytes_are_read_or_refused() {
    const PARTS: [&[u8]; 16] = [
        b"{",
        b"}",
        b"\"",
        b"\"text\"",
        b":",
        b",",
        b"\"a\":\"1\"",
        b"\\",
        b"\\u00",
        b"\\ud83d",
        b"\\udE00",
        b"\\n",
        b" ",
        b"x",
        b"\xc3\xa9",
        b"\xff",
    ];
    let mut draw = Draw(2);
    let mut taken = 0;
    for _ in 0..20_000 {
        let mut json = vec![b'{'; draw.below(2)];
        for _ in 0..draw.below(12) {
            json.extend(PARTS[draw.below(PARTS.len())]);
        }
        json.extend(&b"}"[..draw.below(2)]);
        let mut echo = Echo::NEW;
        match Config::parse(&mut json).apply(&mut echo) {
            Ok(()) => taken += 1,
            Err(why) => assert!(!why.is_empty()),
        }
    }
    assert!(taken > 100, "only {} were read", taken);
}

#[test]
fn helpers_begin_anew_after_a_reset() {
    let mut e = Ewma::new(3);
    e.add(1000);
    e.reset();
    assert_eq!(e.value(), None);
    e.add(8);
    assert_eq!(e.value(), Some(8));
    assert_eq!(Ewma::new(3).value(), None);
}

/// A policy begins as a constant, with its helpers in it.
const HELPERS: (Ewma, Hysteresis, Window, TokenBucket, Pid, TenantTable) = (
    Ewma::new(3),
    Hysteresis::new(4, 3, 10),
    Window::new(SECOND, 10),
    TokenBucket::new(1000, 10),
    Pid::new(1, 1, 1, 0, 0, 10),
    TenantTable::new(0),
);

#[test]
fn limits_of_a_bucket_may_change() {
    let (_, _, _, mut bucket, _, _) = HELPERS;
    assert_eq!(bucket.level(0), 10_000);
    bucket.set_limits(1000, 4);
    assert_eq!((bucket.level(0), bucket.take(0, 5)), (4000, Err(FOREVER)));
}
