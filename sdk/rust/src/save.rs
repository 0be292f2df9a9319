use crate::SAVE_ROOM;

/// Where a policy writes what its next version is to know, little-endian.
///
/// ```
/// # use sluice_policy::{Reader, Writer};
/// let mut to = Writer::new();
/// to.u8(1); // a version of one's own
/// to.u32(17);
/// let mut from = Reader::new(to.bytes());
/// assert_eq!((from.u8(), from.u32(), from.is_empty()), (Some(1), Some(17), true));
/// ```
pub struct Writer {
    buf: [u8; SAVE_ROOM],
    len: usize,
    full: bool,
}

impl Writer {
    /// A writer with room for [`SAVE_ROOM`] bytes.
    pub const fn new() -> Writer {
        Writer {
            buf: [0; SAVE_ROOM],
            len: 0,
            full: false,
        }
    }

    /// What was written; nothing at all when it was more than fits.
    pub fn bytes(&self) -> &[u8] {
        if self.full {
            return &[];
        }
        &self.buf[..self.len]
    }

    /// Reports whether more was written than fits.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.full = false;
    }

    /// Writes bytes.
    pub fn slice(&mut self, bytes: &[u8]) {
        match self.buf[self.len..].get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.full = true,
        }
    }

    /// Writes a byte.
    pub fn u8(&mut self, x: u8) {
        self.slice(&[x]);
    }

    /// Writes two bytes.
    pub fn u16(&mut self, x: u16) {
        self.slice(&x.to_le_bytes());
    }

    /// Writes four bytes.
    pub fn u32(&mut self, x: u32) {
        self.slice(&x.to_le_bytes());
    }

    /// Writes eight bytes.
    pub fn u64(&mut self, x: u64) {
        self.slice(&x.to_le_bytes());
    }

    /// Writes eight bytes.
    pub fn i64(&mut self, x: i64) {
        self.slice(&x.to_le_bytes());
    }
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

/// Reads what a [`Writer`] wrote. Every read gives `None` when too little is left.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of those bytes.
    pub const fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Bytes that are left.
    pub const fn len(&self) -> usize {
        self.rest.len()
    }

    /// Reports whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads that many bytes.
    pub fn slice(&mut self, n: usize) -> Option<&'a [u8]> {
        if n > self.rest.len() {
            return None;
        }
        let (head, rest) = self.rest.split_at(n);
        self.rest = rest;
        Some(head)
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Reads two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads eight bytes.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.slice(N)?);
        Some(out)
    }
}
