use core::fmt;

/// The longest line that the host takes, in bytes.
const ROOM: usize = 512;

/// A line of text in the making. What does not fit is cut off.
#[derive(Clone)]
pub struct Line {
    buf: [u8; ROOM],
    len: usize,
}

impl Line {
    /// An empty line.
    pub const fn new() -> Line {
        Line { buf: [0; ROOM], len: 0 }
    }

    /// What the line holds. Its last character may be cut.
    pub fn bytes(&self) -> &[u8] {
        &self.buf[..self.len]
    }

    /// Reports whether the line holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn byte(&mut self, c: u8) {
        if let Some(at) = self.buf.get_mut(self.len) {
            *at = c;
            self.len += 1;
        }
    }

    #[inline(never)]
    pub(crate) fn raw(&mut self, text: &[u8]) {
        let n = text.len().min(ROOM - self.len);
        self.buf[self.len..self.len + n].copy_from_slice(&text[..n]);
        self.len += n;
    }

    pub(crate) fn text(&mut self, s: &str) {
        self.raw(s.as_bytes());
    }

    #[inline(never)]
    pub(crate) fn quoted(&mut self, s: &str) {
        self.byte(b'"');
        for &c in s.as_bytes() {
            if c == b'"' || c == b'\\' {
                self.byte(b'\\');
            }
            self.byte(c);
        }
        self.byte(b'"');
    }

    #[inline(never)]
    pub(crate) fn number(&mut self, x: i64) {
        if x < 0 {
            self.byte(b'-');
        }
        let (mut x, mut digits, mut at) = (x.unsigned_abs(), [0; 20], 20);
        loop {
            at -= 1;
            digits[at] = b'0' + (x % 10) as u8;
            x /= 10;
            if x == 0 {
                break;
            }
        }
        self.raw(&digits[at..]);
    }
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.text(s);
        Ok(())
    }
}

/// For people: a character that was cut shows as U+FFFD.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut rest = self.bytes();
        loop {
            match core::str::from_utf8(rest) {
                Ok(text) => return f.write_str(text),
                Err(e) => {
                    let (good, bad) = rest.split_at(e.valid_up_to());
                    f.write_str(core::str::from_utf8(good).unwrap_or(""))?;
                    f.write_str("\u{fffd}")?;
                    rest = &bad[e.error_len().unwrap_or(bad.len())..];
                }
            }
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "\"{}\"", self)
    }
}
