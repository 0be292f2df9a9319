import { clamp, MAX_TIME } from "./clamp";

/** A wait that does not end. */
export const FOREVER: i64 = i64.MAX_VALUE;

const MAX_RATE: i64 = 8_000_000_000;
const MAX_BURST: i64 = 1_000_000_000_000;
const BILLION: i64 = 1_000_000_000;

/**
 * Lets rate tokens per 1,000 seconds through in the mean, and burst tokens at once. It is full at first, and its time begins with
 * the first call. Tokens may be requests as well as tokens of text.
 *
 * Its rules, which all SDKs share, to the integer:
 *
 *   - rate counts as 0 to 8*10^9, burst as 0 to 10^12, times as 0 to 2^62. The level is kept in thousandths of a token and
 *     billionths of those, so that nothing is lost however often it is asked.
 *   - A time earlier than that of the last call refills nothing, and the clock goes on from there.
 */
export class TokenBucket {
  /** After a take that returned false: how long, in ns, it is until the tokens are there if nobody else takes any. */
  wait: i64 = 0;

  private readonly rate: i64;
  private readonly burst: i64;
  private thousandths: i64 = 0; // of a token
  private part: i64 = 0; // billionths of a thousandth
  private at: i64 = 0; // ns
  private begun: bool = false;

  constructor(rate: i64, burst: i64) {
    this.rate = clamp(rate, 0, MAX_RATE);
    this.burst = clamp(burst, 0, MAX_BURST);
  }

  /**
   * Takes n tokens at the time now and returns true, or takes nothing, sets wait, and returns false. The wait is FOREVER for more
   * than burst, or more than there are at a rate of 0. For n < 1 it is true.
   */
  take(now: i64, n: i64): bool {
    this.refill(now);
    this.wait = 0;
    if (n < 1) return true;
    if (n > this.burst) {
      this.wait = FOREVER;
      return false;
    }
    if (n * 1000 > this.thousandths) {
      this.wait = this.until(n * 1000 - this.thousandths);
      return false;
    }
    this.thousandths -= n * 1000;
    return true;
  }

  /** Puts n tokens back, up to burst in all; for n < 1 none. */
  give(now: i64, n: i64): void {
    this.refill(now);
    this.thousandths += clamp(n, 0, MAX_BURST) * 1000;
    this.cap();
  }

  /** How many thousandths of a token are there at the time now. */
  level(now: i64): i64 {
    this.refill(now);
    return this.thousandths;
  }

  /** Fills the bucket, as at the beginning. */
  reset(): void { this.begun = false; }

  private refill(now: i64): void {
    now = clamp(now, 0, MAX_TIME);
    const full = this.burst * 1000;
    if (!this.begun) {
      this.begun = true;
      this.at = now;
      this.thousandths = full;
      this.part = 0;
    }
    const passed = max<i64>(now - this.at, 0);
    const seconds = passed / BILLION;
    this.at = now;
    if (this.rate > 0 && seconds > full / this.rate) {
      this.thousandths = full;
    } else {
      this.part += this.rate * (passed % BILLION);
      this.thousandths += this.rate * seconds + this.part / BILLION;
      this.part %= BILLION;
    }
    this.cap();
  }

  /** Keeps the level within burst. */
  private cap(): void {
    const full = this.burst * 1000;
    if (this.thousandths < full) return;
    this.thousandths = full;
    this.part = 0;
  }

  /** How long it takes to refill so many thousandths, rounded up. */
  private until(missing: i64): i64 {
    const rate = this.rate;
    if (rate == 0 || missing / rate >= BILLION * 9) return FOREVER;
    let ns = missing % rate * BILLION - this.part;
    if (ns > 0) ns += rate - 1;
    return missing / rate * BILLION + ns / rate;
  }
}
