use crate::units::{clamp_time, within, MAX_SAMPLE, MAX_TIME, SECOND};

/// Adds up what happened in a sliding window of time, in buckets of equal width: the one in progress and those before it. Its
/// time begins with the first value.
///
/// The rules, which all SDKs share, to the integer:
///
/// - The width counts as 1 ns to 100 s, the buckets as 1 to 64, times as 0 to 2^62. A value is clamped to 2^46 in size, and a
///   bucket's sum to 2^56.
/// - A time earlier than the latest one counts as the latest, unless it is earlier by the whole window or more: then the clock
///   was set anew, everything is forgotten, and time begins there.
///
/// ```
/// # use sluice_policy::*;
/// let mut tokens = Window::new(SECOND, 10); // the last ten seconds
/// tokens.add(5 * SECOND, 300);
/// tokens.add(7 * SECOND, 500);
/// assert_eq!(tokens.sum(7 * SECOND), 800);
/// assert_eq!(tokens.rate(9 * SECOND), 200_000); // 200 a second
/// assert_eq!(tokens.sum(16 * SECOND), 500);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Window {
    width: i64,
    buckets: i64,
    sums: [i64; MAX_BUCKETS],
    begin: i64, // of the first bucket
    latest: i64,
    head: i64, // number of the bucket in progress, from begin on
    begun: bool,
}

const MAX_BUCKETS: usize = 64;
const MAX_WIDTH: i64 = 100 * SECOND;
const MAX_BUCKET: i64 = 1 << 56;

impl Window {
    /// `width` is one bucket's, in ns.
    pub const fn new(width: i64, buckets: u8) -> Window {
        Window {
            width: within(width, 1, MAX_WIDTH),
            buckets: within(buckets as i64, 1, MAX_BUCKETS as i64),
            sums: [0; MAX_BUCKETS],
            begin: 0,
            latest: 0,
            head: 0,
            begun: false,
        }
    }

    /// Counts `x` at the time `now`, in ns.
    pub fn add(&mut self, now: i64, x: i64) {
        if self.begun {
            self.advance(now);
        } else {
            self.start(now);
        }
        let sum = &mut self.sums[(self.head % self.buckets) as usize];
        *sum = (*sum + x.clamp(-MAX_SAMPLE, MAX_SAMPLE)).clamp(-MAX_BUCKET, MAX_BUCKET);
    }

    /// What was added in the window that ends at `now`.
    pub fn sum(&mut self, now: i64) -> i64 {
        self.advance(now);
        self.sums[..self.buckets as usize].iter().sum()
    }

    /// The sum per 1,000 seconds, rounded towards 0 and clamped to 2^62 in size. The divisor is the time that the window
    /// covers: from its first bucket's beginning, or from the first value if that was later, to now; at least one width; in
    /// microseconds, rounded up.
    pub fn rate(&mut self, now: i64) -> i64 {
        const MILLI: i64 = 1_000_000_000; // of one event a microsecond
        let sum = self.sum(now);
        let age = self.latest - self.begin;
        let covered = age.min((self.buckets - 1) * self.width + age % self.width);
        let us = (covered.max(self.width) + 999) / 1000;
        let (whole, rest) = (sum / us, sum % us);
        if whole >= MAX_TIME / MILLI {
            return MAX_TIME;
        }
        if whole <= -MAX_TIME / MILLI {
            return -MAX_TIME;
        }
        whole * MILLI + rest * MILLI / us
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.start(0);
        self.begun = false;
    }

    fn start(&mut self, now: i64) {
        let now = clamp_time(now);
        self.sums = [0; MAX_BUCKETS];
        self.begun = true;
        self.begin = now;
        self.latest = now;
        self.head = 0;
    }

    /// Empties the buckets that the window has moved over.
    fn advance(&mut self, now: i64) {
        if !self.begun {
            return;
        }
        let now = clamp_time(now);
        if now <= self.latest {
            if self.latest - now >= self.buckets * self.width {
                self.start(now);
            }
            return;
        }
        self.latest = now;
        let head = (now - self.begin) / self.width;
        let mut i = self.head.max(head - self.buckets) + 1;
        while i <= head {
            self.sums[(i % self.buckets) as usize] = 0;
            i += 1;
        }
        self.head = head;
    }
}
