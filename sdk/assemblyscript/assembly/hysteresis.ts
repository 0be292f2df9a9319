/**
 * A switch that a value moves, and that does not flap when the value does. It goes on at once when the value is greater than
 * above, and off when the value has been at most below for hold, in the unit of update's at: steps or ns; 0 = off at once.
 */
export class Hysteresis {
  private state: bool = false;
  private calm: bool = false;
  private since: i64 = 0; // start of the calm

  constructor(private readonly above: i64, private readonly below: i64, private readonly hold: i64 = 0) {}

  /** Moves the switch and returns whether it is on. at must not decrease; a jump back restarts hold. */
  update(at: i64, value: i64): bool {
    if (value > this.above) {
      this.state = true;
      this.calm = false;
    } else if (this.state) {
      if (value > this.below) {
        this.calm = false;
      } else if (!this.calm || at < this.since) {
        this.calm = true;
        this.since = at;
      }
    }
    if (this.calm && at - this.since >= this.hold) {
      this.state = false;
      this.calm = false;
    }
    return this.state;
  }

  /** The switch's position. */
  get on(): bool { return this.state; }
}
