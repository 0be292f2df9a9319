package sluice

// TokenBucket lets Rate tokens a second through in the mean, and Burst at once. The zero value with its limits is ready: it
// is full, and its time begins with the first call. Tokens may be requests as well as tokens of text.
//
// Its rules, which all SDKs share, to the integer:
//
//   - Rate counts as 0 to 8*10^9, Burst as 0 to 10^12, times as 0 to 2^62. The level is kept in thousandths of a token and
//     billionths of those, so that nothing is lost however often it is asked.
//   - A time earlier than that of the last call refills nothing, and the clock goes on from there.
type TokenBucket struct {
	Rate  int64 // tokens per 1,000 seconds
	Burst int64 // tokens

	level int64 // thousandths of a token
	part  int64 // billionths of a thousandth
	at    int64 // ns
	begun bool
}

// Forever is a wait that does not end.
const Forever = maxInt

const (
	maxRate  = 8_000_000_000
	maxBurst = 1_000_000_000_000
	billion  = 1_000_000_000
)

// Take takes n tokens at the time now and reports true, or takes nothing and reports how long, in ns, it is until they are
// there if nobody else takes any: Forever for more than Burst, or more than there are at a Rate of 0. For n < 1 it is true.
func (b *TokenBucket) Take(now, n int64) (ok bool, wait int64) {
	b.refill(now)
	switch {
	case n < 1:
		return true, 0
	case n > b.burst():
		return false, Forever
	case n*1000 > b.level:
		return false, b.until(n*1000 - b.level)
	}
	b.level -= n * 1000
	return true, 0
}

// Give puts n tokens back, up to Burst in all; for n < 1 none.
func (b *TokenBucket) Give(now, n int64) {
	b.refill(now)
	b.level += min(max(n, 0), maxBurst) * 1000
	b.cap()
}

// Level is how many thousandths of a token are there at the time now.
func (b *TokenBucket) Level(now int64) int64 {
	b.refill(now)
	return b.level
}

// Reset fills the bucket, as at the beginning.
func (b *TokenBucket) Reset() { b.begun = false }

func (b *TokenBucket) refill(now int64) {
	now = clampTime(now)
	if !b.begun {
		b.begun, b.at, b.level, b.part = true, now, b.burst()*1000, 0
	}
	passed := max(now-b.at, 0)
	b.at = now
	rate, seconds := b.rate(), passed/billion
	if rate > 0 && seconds > b.burst()*1000/rate {
		b.level = b.burst() * 1000
	} else {
		b.part += rate * (passed % billion)
		b.level += rate*seconds + b.part/billion
		b.part %= billion
	}
	b.cap()
}

// cap keeps the level within Burst, also when the limits were lowered.
func (b *TokenBucket) cap() {
	if most := b.burst() * 1000; b.level >= most {
		b.level, b.part = most, 0
	}
}

// until is how long it takes to refill so many thousandths, rounded up.
func (b *TokenBucket) until(missing int64) int64 {
	rate := b.rate()
	if rate == 0 || missing/rate >= billion*9 {
		return Forever
	}
	ns := missing%rate*billion - b.part
	if ns > 0 {
		ns += rate - 1
	}
	return missing/rate*billion + ns/rate
}

func (b *TokenBucket) rate() int64  { return min(max(b.Rate, 0), maxRate) }
func (b *TokenBucket) burst() int64 { return min(max(b.Burst, 0), maxBurst) }
