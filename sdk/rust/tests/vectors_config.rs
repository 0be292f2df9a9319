//! Which configurations every SDK takes, and what it says of mistakes, to the byte: sdk/vectors/config.txt says how to read
//! itself.

use sluice_policy::{Config, Configure, Policy};

/// Decodes %HH.
fn plain(s: &str) -> Vec<u8> {
    let mut parts = s.split('%');
    let mut out = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(&part[..2], 16).unwrap());
        out.extend(part[2..].bytes());
    }
    out
}

fn text(s: &str) -> String {
    String::from_utf8(plain(s)).unwrap()
}

fn number(s: &str) -> i64 {
    s.parse().unwrap()
}

/// A policy that asks what a case asks.
struct Case<'a> {
    gets: Vec<(&'a str, &'a str)>, // what is asked, and what is to be returned
    refusal: Option<&'static str>,
}

impl Policy for Case<'_> {
    const NEW: Self = Case {
        gets: Vec::new(),
        refusal: None,
    };
}

impl Configure for Case<'_> {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        for (ask, want) in &self.gets {
            assert_eq!(get(c, ask), *want, "get {}", ask);
        }
        self.refusal.map_or(Ok(()), Err)
    }
}

/// Asks a getter, and writes what it returns as the file does.
fn get(c: &mut Config, ask: &str) -> String {
    let fields: Vec<&str> = ask.split(' ').collect();
    let key = text(fields[1]);
    let integers = |all: &[i64]| all.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    let (default, within) = match fields[0] {
        "int" | "duration" | "ratio" | "class_durations" => (number(fields[2]), number(fields[3])..=number(fields[4])),
        _ => (0, 0..=0),
    };
    match fields[0] {
        "string" => escaped(c.string(&key, Box::leak(text(fields[2]).into_boxed_str()))),
        "one_of" => one_of(c, &key, &fields[2..]),
        "bool" => i64::from(c.bool(&key, fields[2] == "1")).to_string(),
        "int" => integers(&[c.int(&key, default, within)]),
        "duration" => integers(&[c.duration(&key, default, within)]),
        "ratio" => integers(&[c.ratio(&key, default, within)]),
        "class_durations" => integers(&c.class_durations(&key, default, within)),
        kind => panic!("no getter {}", kind),
    }
}

fn one_of(c: &mut Config, key: &str, allowed: &[&str]) -> String {
    let texts: Vec<String> = allowed.iter().map(|a| text(a)).collect();
    let choices: Vec<(&str, usize)> = texts.iter().enumerate().map(|(i, t)| (t.as_str(), i)).collect();
    allowed[c.one_of(key, &choices)].to_string()
}

fn escaped(s: &str) -> String {
    s.bytes()
        .map(|c| {
            if c <= b' ' || c > b'~' || c == b'%' {
                format!("%{:02X}", c)
            } else {
                (c as char).into()
            }
        })
        .collect()
}

#[test]
fn configurations_read_as_those_of_every_sdk() {
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/config.txt")).unwrap();
    let (mut json, mut case, mut asked, mut cases) = (Vec::new(), Case::NEW, false, 0);
    for (i, line) in file.lines().enumerate().filter(|(_, l)| !l.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "json" => {
                json = plain(rest);
                case = Case::NEW;
                asked = false;
            }
            "get" => {
                case.gets.push(rest.split_once(" : ").expect("an answer"));
                asked = true;
            }
            "refuse" => case.refusal = Some(Box::leak(text(rest).into_boxed_str())),
            "err" => {
                let mut c = Config::parse(&mut json);
                let said = c.apply(&mut case).err().map_or(Vec::new(), |why| why.bytes().to_vec());
                let show = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                assert_eq!(show(&said), show(&plain(rest)), "line {}", i + 1);
                assert_eq!(said, plain(rest), "line {}", i + 1);
                cases += 1;
            }
            _ => panic!("line {}: {}", i + 1, line),
        }
    }
    assert!(asked && cases > 500, "only {} cases were read", cases);
}
