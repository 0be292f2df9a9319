use crate::units::clamp_time;

/// Lets `rate` tokens through in the mean, and `burst` at once. It begins full, with the first call. Tokens may be requests as
/// well as tokens of text.
///
/// The rules, which all SDKs share, to the integer:
///
/// - The rate counts as 0 to 8*10^9, the burst as 0 to 10^12, times as 0 to 2^62. The level is kept in thousandths of a token
///   and billionths of those, so that nothing is lost however often it is asked.
/// - A time earlier than that of the last call refills nothing, and the clock goes on from there.
///
/// ```
/// # use sluice_policy::*;
/// let mut quota = TokenBucket::new(2000, 3); // 2 a second, 3 at once
/// assert_eq!((0..4).map(|_| quota.take(0, 1).is_ok()).collect::<Vec<_>>(), [true, true, true, false]);
/// assert_eq!(quota.take(0, 1), Err(SECOND / 2));
/// assert_eq!(quota.take(SECOND / 2, 1), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: i64,
    burst: i64,
    level: i64, // thousandths of a token
    part: i64,  // billionths of a thousandth
    at: i64,    // ns
    begun: bool,
}

/// A wait that does not end.
pub const FOREVER: i64 = i64::MAX;

const MAX_RATE: i64 = 8_000_000_000;
const MAX_BURST: i64 = 1_000_000_000_000;
const BILLION: i64 = 1_000_000_000;

impl TokenBucket {
    /// `rate` is in tokens per 1,000 seconds, `burst` in tokens.
    pub const fn new(rate: i64, burst: i64) -> TokenBucket {
        TokenBucket {
            rate,
            burst,
            level: 0,
            part: 0,
            at: 0,
            begun: false,
        }
    }

    /// Sets other limits. What is in the bucket stays there, as far as it has room.
    pub fn set_limits(&mut self, rate: i64, burst: i64) {
        self.rate = rate;
        self.burst = burst;
    }

    /// Takes `n` tokens at the time `now`, or takes nothing and says how long, in ns, it is until they are there if nobody
    /// else takes any: [`FOREVER`] for more than the burst, or more than there are at a rate of 0. For `n` < 1 it is `Ok`.
    pub fn take(&mut self, now: i64, n: i64) -> Result<(), i64> {
        self.refill(now);
        if n < 1 {
            return Ok(());
        }
        if n > self.burst() {
            return Err(FOREVER);
        }
        if n * 1000 > self.level {
            return Err(self.until(n * 1000 - self.level));
        }
        self.level -= n * 1000;
        Ok(())
    }

    /// Puts `n` tokens back, up to the burst in all; for `n` < 1 none.
    pub fn give(&mut self, now: i64, n: i64) {
        self.refill(now);
        self.level += n.clamp(0, MAX_BURST) * 1000;
        self.cap();
    }

    /// How many thousandths of a token are there at the time `now`.
    pub fn level(&mut self, now: i64) -> i64 {
        self.refill(now);
        self.level
    }

    /// Fills the bucket, as at the beginning.
    pub fn reset(&mut self) {
        self.begun = false;
    }

    fn refill(&mut self, now: i64) {
        let now = clamp_time(now);
        if !self.begun {
            self.begun = true;
            self.at = now;
            self.level = self.burst() * 1000;
            self.part = 0;
        }
        let passed = (now - self.at).max(0);
        self.at = now;
        let (rate, seconds) = (self.rate(), passed / BILLION);
        if rate > 0 && seconds > self.burst() * 1000 / rate {
            self.level = self.burst() * 1000;
        } else {
            self.part += rate * (passed % BILLION);
            self.level += rate * seconds + self.part / BILLION;
            self.part %= BILLION;
        }
        self.cap();
    }

    /// Keeps the level within the burst.
    fn cap(&mut self) {
        let most = self.burst() * 1000;
        if self.level >= most {
            self.level = most;
            self.part = 0;
        }
    }

    /// How long it takes to refill so many thousandths, rounded up.
    fn until(&self, missing: i64) -> i64 {
        let rate = self.rate();
        if rate == 0 || missing / rate >= BILLION * 9 {
            return FOREVER;
        }
        let mut ns = missing % rate * BILLION - self.part;
        if ns > 0 {
            ns += rate - 1;
        }
        missing / rate * BILLION + ns / rate
    }

    fn rate(&self) -> i64 {
        self.rate.clamp(0, MAX_RATE)
    }

    fn burst(&self) -> i64 {
        self.burst.clamp(0, MAX_BURST)
    }
}
