use crate::json::{Entry, Parser, MAX_KEYS, NO_ENTRY};
use crate::{Configure, Line};
use core::fmt::{self, Write};

/// A policy's configuration: values by key, all of them strings until a getter reads them.
///
/// Every getter names a key and its default, and the configuration remembers both: what no getter named is an unknown key. A
/// value that cannot be read gives the default and is remembered as a mistake, so that
/// [`configure`](crate::Configure::configure) needs no error handling of its own.
///
/// ```
/// # use sluice_policy::*;
/// # struct Shed { max_wait: i64, share: i64, hard: bool }
/// # impl Policy for Shed { const NEW: Shed = Shed { max_wait: 0, share: 0, hard: false }; }
/// impl Configure for Shed {
///     fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
///         self.max_wait = c.duration("max_wait", 10 * SECOND, MILLISECOND..=HOUR);
///         self.share = c.ratio("share", ONE / 2, 0..=ONE);
///         self.hard = c.one_of("mode", &[("soft", false), ("hard", true)]);
///         Ok(())
///     }
/// }
///
/// let shed = testing::Tester::<Shed>::with(&[("share", "80%"), ("mode", "hard")]).unwrap().policy;
/// assert_eq!((shed.max_wait, shed.share, shed.hard), (10 * SECOND, 800_000, true));
/// let why = testing::Tester::<Shed>::with(&[("max_wait", "2h"), ("shared", "1")]).err().unwrap();
/// assert_eq!(why, "max_wait=\"2h\": must be from 1ms to 1h; unknown key \"shared\": known are max_wait, share, mode");
/// ```
pub struct Config<'a> {
    // What runs once a load is kept out of line below: in a module it is size that counts.
    entries: [Entry<'a>; MAX_KEYS],
    len: usize,
    pub(crate) known: Known,
    wrong: Line,
    broken: bool,
}

impl<'a> Config<'a> {
    /// Reads what the host writes: a JSON object whose values are strings. Its text is overwritten with the strings.
    #[inline(never)]
    pub fn parse(json: &'a mut [u8]) -> Config<'a> {
        let mut c = Config {
            entries: [NO_ENTRY; MAX_KEYS],
            len: 0,
            known: Known {
                names: Line::new(),
                any: false,
            },
            wrong: Line::new(),
            broken: false,
        };
        match Parser::new(json).parse(&mut c.entries) {
            Ok(n) => c.len = n,
            Err((why, at)) => {
                c.broken = true;
                c.wrong.text("the configuration is not a JSON object of strings: ");
                c.wrong.text(why);
                c.wrong.text(" at byte ");
                c.wrong.number(at as i64);
            }
        }
        c
    }

    /// Configures a policy. The error is everything that is wrong with the configuration, on one line.
    pub fn apply<P: Configure>(&mut self, policy: &mut P) -> Result<(), &Line> {
        if !self.broken {
            if let Err(why) = policy.configure(self) {
                self.separate();
                self.wrong.text(why);
            }
            self.unknown();
        }
        if self.wrong.is_empty() {
            return Ok(());
        }
        Err(&self.wrong)
    }

    /// Remembers a mistake that only the policy can see, as `format!` would say it.
    pub fn refuse(&mut self, why: fmt::Arguments) {
        self.separate();
        let _ = self.wrong.write_fmt(why); // what fails in it is a value's own formatting
    }

    /// Remembers a value that could not be read.
    pub(crate) fn bad(&mut self, key: Key, value: &str) -> &mut Line {
        self.separate();
        self.wrong.text(key.name);
        self.wrong.text(key.class);
        self.wrong.byte(b'=');
        self.wrong.quoted(value);
        self.wrong.text(": ");
        &mut self.wrong
    }

    /// Finds a key's value and marks it as used.
    #[inline(never)]
    pub(crate) fn lookup(&mut self, key: Key) -> Option<&'a str> {
        let e = self.entries[..self.len]
            .iter_mut()
            .find(|e| e.key.strip_prefix(key.name) == Some(key.class))?;
        e.used = true;
        Some(e.value)
    }

    fn separate(&mut self) {
        if !self.wrong.is_empty() {
            self.wrong.text("; ");
        }
    }

    /// Remembers the keys that no getter has named.
    #[inline(never)]
    fn unknown(&mut self) {
        for i in 0..self.len {
            if self.entries[i].used {
                continue;
            }
            self.separate();
            self.wrong.text("unknown key ");
            self.wrong.quoted(self.entries[i].key);
            self.known.list(&mut self.wrong);
        }
    }
}

/// A key in two parts, the second of which says which class it is for.
#[derive(Clone, Copy)]
pub(crate) struct Key<'k> {
    pub name: &'k str,
    pub class: &'k str, // "" or "." and what follows
}

/// The keys that getters have named, each once. Of names that no line has room for it forgets the end.
pub(crate) struct Known {
    names: Line, // with END between them
    any: bool,
}

const END: u8 = 0xff; // is in no string

impl Known {
    #[inline(never)]
    pub fn add(&mut self, key: Key) {
        let same = |n: &[u8]| n.strip_prefix(key.name.as_bytes()) == Some(key.class.as_bytes());
        if self.any && self.names.bytes().split(|&c| c == END).any(same) {
            return;
        }
        if self.any {
            self.names.byte(END);
        }
        self.any = true;
        self.names.text(key.name);
        self.names.text(key.class);
    }

    #[inline(never)]
    fn list(&self, to: &mut Line) {
        if !self.any {
            to.text(": the policy has no settings");
            return;
        }
        to.text(": known are ");
        for &c in self.names.bytes() {
            match c {
                END => to.text(", "),
                c => to.byte(c),
            }
        }
    }
}
