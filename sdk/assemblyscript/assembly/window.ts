import { clamp, MAX_SAMPLE, MAX_TIME } from "./clamp";
import { SECOND } from "./units";

const MAX_BUCKETS: i32 = 64;
const MAX_BUCKET: i64 = 1 << 56;
const MILLI: i64 = 1_000_000_000; // of one event a microsecond

/**
 * Adds up what happened in a sliding window of time, in buckets of equal width: the one in progress and those before it. Its
 * time begins with the first add.
 *
 * Its rules, which all SDKs share, to the integer:
 *
 *   - width counts as 1 ns to 100 s, buckets as 1 to 64, times as 0 to 2^62. A value is clamped to 2^46 in size, and a bucket's
 *     sum to 2^56.
 *   - A time earlier than the latest one counts as the latest, unless it is earlier by width*buckets or more: then the clock was
 *     set anew, everything is forgotten, and time begins there.
 */
export class Window {
  private readonly width: i64;
  private readonly buckets: i64;
  private readonly sums: StaticArray<i64> = new StaticArray<i64>(MAX_BUCKETS);
  private first: i64 = 0; // beginning of the first bucket
  private latest: i64 = 0;
  private head: i64 = 0; // number of the bucket in progress, from first on
  private begun: bool = false;

  /** width is one bucket's, in ns. */
  constructor(width: i64, buckets: u8) {
    this.width = clamp(width, 1, 100 * SECOND);
    this.buckets = clamp(buckets, 1, MAX_BUCKETS);
  }

  /** Counts x at the time now, in ns. */
  add(now: i64, x: i64): void {
    if (this.begun) this.advance(now); else this.start(now);
    const i = <i32>(this.head % this.buckets);
    this.sums[i] = clamp(this.sums[i] + clamp(x, -MAX_SAMPLE, MAX_SAMPLE), -MAX_BUCKET, MAX_BUCKET);
  }

  /** What was added in the window that ends at now. */
  sum(now: i64): i64 {
    this.advance(now);
    let sum: i64 = 0;
    for (let i = 0; i < <i32>this.buckets; i++) sum += this.sums[i];
    return sum;
  }

  /**
   * The sum per 1,000 seconds, rounded towards 0 and clamped to 2^62 in size. The divisor is the time that the window covers:
   * from its first bucket's beginning, or from the first add if that was later, to now; at least width; in microseconds, rounded
   * up.
   */
  rate(now: i64): i64 {
    const sum = this.sum(now);
    const age = this.latest - this.first;
    const covered = min<i64>(age, (this.buckets - 1) * this.width + age % this.width);
    const us = (max<i64>(covered, this.width) + 999) / 1000;
    const whole = sum / us;
    if (whole >= MAX_TIME / MILLI) return MAX_TIME;
    if (whole <= -MAX_TIME / MILLI) return -MAX_TIME;
    return whole * MILLI + sum % us * MILLI / us;
  }

  /** Forgets everything. */
  reset(): void {
    this.start(0);
    this.begun = false;
  }

  private start(now: i64): void {
    this.sums.fill(0);
    this.begun = true;
    this.first = this.latest = clamp(now, 0, MAX_TIME);
    this.head = 0;
  }

  /** Empties the buckets that the window has moved over. */
  private advance(now: i64): void {
    if (!this.begun) return;
    now = clamp(now, 0, MAX_TIME);
    if (now <= this.latest) {
      if (this.latest - now >= this.buckets * this.width) this.start(now);
      return;
    }
    this.latest = now;
    const head = (now - this.first) / this.width;
    for (let i = max<i64>(this.head, head - this.buckets) + 1; i <= head; i++) this.sums[<i32>(i % this.buckets)] = 0;
    this.head = head;
  }
}
