use crate::config::{Config, Key};
use crate::number::Kind;
use crate::units::CLASSES;
use core::ops::RangeInclusive;

impl<'a> Config<'a> {
    /// A key's text.
    pub fn string(&mut self, key: &str, default: &'a str) -> &'a str {
        self.named(key).unwrap_or(default)
    }

    /// What a key's text stands for among `choices`, of which the first is the default.
    ///
    /// # Panics
    ///
    /// There must be a choice.
    pub fn one_of<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> T {
        let (_, default) = choices[0];
        let value = match self.named(key) {
            Some(value) => value,
            None => return default,
        };
        if let Some((_, choice)) = choices.iter().find(|(text, _)| *text == value) {
            return *choice;
        }
        let wrong = self.bad(whole(key), value);
        wrong.text("must be one of ");
        for (i, (text, _)) in choices.iter().enumerate() {
            wrong.text(if i > 0 { ", " } else { "" });
            wrong.text(text);
        }
        default
    }

    /// true, on, yes or 1; or false, off, no or 0.
    pub fn bool(&mut self, key: &str, default: bool) -> bool {
        match self.named(key) {
            None => default,
            Some("true" | "on" | "yes" | "1") => true,
            Some("false" | "off" | "no" | "0") => false,
            Some(value) => {
                self.bad(whole(key), value).text("must be true or false");
                default
            }
        }
    }

    /// A whole number within bounds: "8".
    pub fn int(&mut self, key: &str, default: i64, within: RangeInclusive<i64>) -> i64 {
        self.number(key, default, within, Kind::Int)
    }

    /// A time in ns within bounds, written with a unit: "2s", "500ms", "1.5s", "1m30s". A bare 0 is allowed.
    pub fn duration(&mut self, key: &str, default: i64, within: RangeInclusive<i64>) -> i64 {
        self.number(key, default, within, Kind::Duration)
    }

    /// A ratio in parts per million within bounds, written as a decimal or in per cent: "0.9", "90%".
    pub fn ratio(&mut self, key: &str, default: i64, within: RangeInclusive<i64>) -> i64 {
        self.number(key, default, within, Kind::Ratio)
    }

    /// A [`Config::duration`] for each class: KEY for all of them, and KEY.0 to KEY.15 for single ones.
    pub fn class_durations(&mut self, key: &str, default: i64, within: RangeInclusive<i64>) -> [i64; CLASSES] {
        let default = self.duration(key, default, within.clone());
        self.known.add(Key {
            name: key,
            class: ".<class>",
        });
        let mut all = [default; CLASSES];
        for (ns, class) in all.iter_mut().zip(EACH) {
            *ns = self.read(Key { name: key, class }, default, &within, Kind::Duration);
        }
        all
    }

    #[inline(never)]
    fn named(&mut self, key: &str) -> Option<&'a str> {
        self.known.add(whole(key));
        self.lookup(whole(key))
    }

    #[inline(never)]
    fn number(&mut self, key: &str, default: i64, within: RangeInclusive<i64>, kind: Kind) -> i64 {
        self.known.add(whole(key));
        self.read(whole(key), default, &within, kind)
    }

    fn read(&mut self, key: Key, default: i64, within: &RangeInclusive<i64>, kind: Kind) -> i64 {
        let value = match self.lookup(key) {
            Some(value) => value,
            None => return default,
        };
        match kind.parse(value) {
            Err(why) => self.bad(key, value).text(why),
            Ok(x) if within.contains(&x) => return x,
            Ok(_) => {
                let wrong = self.bad(key, value);
                wrong.text("must be from ");
                kind.write(wrong, *within.start());
                wrong.text(" to ");
                kind.write(wrong, *within.end());
            }
        }
        default
    }
}

const EACH: [&str; CLASSES] = [
    ".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", ".10", ".11", ".12", ".13", ".14", ".15",
];

fn whole(key: &str) -> Key<'_> {
    Key { name: key, class: "" }
}
