import { clamp } from "./clamp";

const MAX_GAIN: i64 = 1 << 20;
const MAX_ERROR: i64 = 1 << 40;
const MAX_LIMIT: i64 = 1 << 31;

/**
 * A controller: it turns an error, how far a measure is from its target, into a setting. It counts updates and not time, so
 * update it at a fixed interval.
 *
 * Its rules, which all SDKs share, to the integer:
 *
 *   - A gain is so many 2^shift-ths of a unit of the setting for a unit of the error. Gains are clamped to 2^20 in size, errors to
 *     2^40, limits to 2^31, and shift counts as at most 30. high below low counts as low.
 *   - integral += ki*error, then clamped to what alone would give low or high: it does not wind up while the setting stands at a
 *     limit.
 *   - setting = (kp*error + integral + kd*(error - last error)) / 2^shift, rounded down, then clamped to low and high. The first
 *     error has no last one, and no part of kd.
 */
export class PID {
  private readonly kp: i64;
  private readonly ki: i64;
  private readonly kd: i64;
  private readonly shift: i64;
  private readonly low: i64;
  private readonly high: i64;
  private integral: i64 = 0; // times 2^shift
  private last: i64 = 0;
  private begun: bool = false;

  /** low and high are the limits of the setting. */
  constructor(kp: i64, ki: i64, kd: i64, shift: u8, low: i64, high: i64) {
    this.kp = clamp(kp, -MAX_GAIN, MAX_GAIN);
    this.ki = clamp(ki, -MAX_GAIN, MAX_GAIN);
    this.kd = clamp(kd, -MAX_GAIN, MAX_GAIN);
    this.shift = min<i64>(shift, 30);
    this.low = clamp(low, -MAX_LIMIT, MAX_LIMIT);
    this.high = max<i64>(clamp(high, -MAX_LIMIT, MAX_LIMIT), this.low);
  }

  /** Takes the error and returns the setting. */
  update(err: i64): i64 {
    err = clamp(err, -MAX_ERROR, MAX_ERROR);
    if (!this.begun) {
      this.begun = true;
      this.last = err;
    }
    this.integral = clamp(this.integral + this.ki * err, this.low << this.shift, this.high << this.shift);
    const sum = this.kp * err + this.integral + this.kd * (err - this.last);
    this.last = err;
    return clamp(sum >> this.shift, this.low, this.high);
  }

  /** Begins anew, so that an error of 0 gives the setting, clamped to low and high. */
  reset(setting: i64): void {
    this.integral = clamp(setting, this.low, this.high) << this.shift;
    this.last = 0;
    this.begun = false;
  }
}
