import { clamp, MAX_SAMPLE } from "./clamp";

/** An exponentially weighted moving average in integers. A new value has the weight 1/2^shift, 0 to 16; 0 keeps the newest only. */
export class EWMA {
  private readonly shift: i64;
  private scaled: i64 = 0; // the average times 2^shift
  private seeded: bool = false;

  constructor(shift: u8) { this.shift = min<i64>(shift, 16); }

  /** Takes a value, clamped to 2^46 in size. The first one is the average. */
  add(x: i64): void {
    x = clamp(x, -MAX_SAMPLE, MAX_SAMPLE);
    if (this.seeded) {
      this.scaled += x - (this.scaled >> this.shift);
    } else {
      this.seeded = true;
      this.scaled = x << this.shift;
    }
  }

  /** Whether there was a value. */
  get has(): bool { return this.seeded; }

  /** The average, rounded down; 0 before the first add. */
  get value(): i64 { return this.scaled >> this.shift; }

  /** Forgets all values. */
  reset(): void {
    this.scaled = 0;
    this.seeded = false;
  }
}
