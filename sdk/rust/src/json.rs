//! The one form of JSON that the host writes: a flat object whose values are strings.

/// Bounds a configuration.
pub(crate) const MAX_KEYS: usize = 256;

#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub key: &'a str,
    pub value: &'a str,
    pub used: bool,
}

pub(crate) const NO_ENTRY: Entry = Entry {
    key: "",
    value: "",
    used: false,
};

/// Reads an object and decodes its strings where they stand: a string is never longer than its text.
pub(crate) struct Parser<'a> {
    rest: &'a mut [u8],
    at: usize, // bytes passed
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a mut [u8]) -> Parser<'a> {
        Parser { rest: text, at: 0 }
    }

    /// Fills `entries` and returns their number, or what is wrong and at which byte.
    pub fn parse(mut self, entries: &mut [Entry<'a>; MAX_KEYS]) -> Result<usize, (&'static str, usize)> {
        let n = match self.object(entries) {
            Ok(n) => n,
            Err(why) => return Err((why, self.at)),
        };
        match self.next() {
            Some(_) => Err(("something follows the object", self.at)),
            None => Ok(n),
        }
    }

    fn object(&mut self, entries: &mut [Entry<'a>; MAX_KEYS]) -> Result<usize, &'static str> {
        if !self.take(b'{') {
            return Err("no { found");
        }
        if self.take(b'}') {
            return Ok(0);
        }
        let mut n = 0;
        loop {
            let key = self.string()?;
            if !self.take(b':') {
                return Err("no : found");
            }
            let value = self.string()?;
            if entries[..n].iter().any(|e| e.key == key) {
                return Err("a key stands there twice");
            }
            *entries.get_mut(n).ok_or("too many keys")? = Entry {
                key,
                value,
                used: false,
            };
            n += 1;
            if self.take(b'}') {
                return Ok(n);
            }
            if !self.take(b',') {
                return Err("no , or } found");
            }
        }
    }

    /// Passes white space and shows the byte behind it.
    fn next(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.rest.first() {
            self.pass(1);
        }
        self.rest.first().copied()
    }

    fn pass(&mut self, n: usize) -> &'a mut [u8] {
        let (head, rest) = core::mem::take(&mut self.rest).split_at_mut(n);
        self.rest = rest;
        self.at += n;
        head
    }

    fn take(&mut self, c: u8) -> bool {
        let there = self.next() == Some(c);
        if there {
            self.pass(1);
        }
        there
    }

    #[inline(never)]
    fn string(&mut self) -> Result<&'a str, &'static str> {
        if !self.take(b'"') {
            return Err("no string found");
        }
        let (from, to) = match decode(self.rest) {
            Ok(ends) => ends,
            Err((why, from)) => {
                self.at += from;
                return Err(why);
            }
        };
        let text: &'a [u8] = self.pass(from);
        core::str::from_utf8(&text[..to]).map_err(|_| "a string that is not UTF-8 ends")
    }
}

/// Decodes a string in its place. It returns the ends of the text, with its quotation mark, and of the string; or what is
/// wrong and where.
fn decode(text: &mut [u8]) -> Result<(usize, usize), (&'static str, usize)> {
    let (mut from, mut to) = (0, 0);
    while let Some(&c) = text.get(from) {
        match c {
            b'"' => return Ok((from + 1, to)),
            0..=0x1f => return Err(("a control character stands", from)),
            b'\\' => {
                from += 1;
                let r = escape(text, &mut from).ok_or(("a wrong escape ends", from))?;
                let mut utf8 = [0; 4];
                for &c in r.encode_utf8(&mut utf8).as_bytes() {
                    text[to] = c;
                    to += 1;
                }
            }
            _ => {
                text[to] = c;
                from += 1;
                to += 1;
            }
        }
    }
    Err(("a string does not end", from))
}

/// Reads what follows a backslash.
fn escape(text: &[u8], at: &mut usize) -> Option<char> {
    let c = *text.get(*at)?;
    *at += 1;
    match c {
        b'"' | b'\\' | b'/' => Some(c as char),
        b'b' => Some('\x08'),
        b'f' => Some('\x0c'),
        b'n' => Some('\n'),
        b'r' => Some('\r'),
        b't' => Some('\t'),
        b'u' => unicode(text, at),
        _ => None,
    }
}

/// Reads four hexadecimal digits, and a second escape when they are the first half of a surrogate pair.
fn unicode(text: &[u8], at: &mut usize) -> Option<char> {
    let high = hex4(text, at)?;
    if !(0xd800..=0xdbff).contains(&high) {
        return char::from_u32(high);
    }
    if text.get(*at..*at + 2)? != b"\\u" {
        return None;
    }
    *at += 2;
    let low = hex4(text, at)?;
    if !(0xdc00..=0xdfff).contains(&low) {
        return None;
    }
    char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

fn hex4(text: &[u8], at: &mut usize) -> Option<u32> {
    let mut x = 0;
    for &c in text.get(*at..*at + 4)? {
        x = x << 4 | (c as char).to_digit(16)?;
    }
    *at += 4;
    Some(x)
}
