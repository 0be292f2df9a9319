// Tpot-cap makes the batch as large as the time per output token allows, and no larger. It decides what policies/tpot-cap
// decides, where its rules and settings are described.

import {
  BatchCapper, BatchPlan, Config, Configurer, FieldReader, Group, line, MILLISECOND, MINUTE, ONE, Reader, register, State, StateSaver,
  Writer,
} from "../assembly";
export { sluice_abi_v1, sluice_batch_cap, sluice_configure, sluice_restore, sluice_save } from "../assembly/exports";

// The saved state: a version, the cap, and the step of the last decision.
const STATE_VERSION: u8 = 1;
const STATE_SIZE: i32 = 1 + 4 + 8;

class TpotCap implements BatchCapper, Configurer, FieldReader, StateSaver {
  // ns: above target the cap falls, below resume it rises
  private target: i64 = 0;
  private resume: i64 = 0;
  private floor: u32 = 0;
  private ceiling: u32 = 0;
  private increase: u32 = 0;
  private decrease: i64 = 0; // ppm
  private hold: u64 = 0;
  private settle: u64 = 0;

  private cap: u32 = 0; // 0 until the first step
  private judged: u64 = 0; // the step of the last decision
  private settled: u64 = 0; // the step from which on the measure is of the batch as it is
  private warned: bool = false;

  reads(): Group { return Group.Speed; }

  configure(c: Config): string | null {
    this.target = c.duration("tpot", 50 * MILLISECOND, MILLISECOND / 10, MINUTE);
    this.floor = <u32>c.int("floor", 1, 1, 4096);
    this.ceiling = <u32>c.int("ceiling", 0, 0, 4096);
    this.resume = this.target - this.target * c.ratio("band", ONE / 10, 0, ONE * 9 / 10) / ONE;
    this.increase = <u32>c.int("increase", 1, 1, 64);
    this.decrease = c.ratio("decrease", ONE * 3 / 4, ONE / 10, ONE * 99 / 100);
    this.hold = <u64>c.int("hold_steps", 16, 1, 1024);
    this.settle = <u64>c.int("settle_steps", 64, 0, 100_000);
    return this.ceiling > 0 && this.ceiling < this.floor ? "ceiling must not be below floor" : null;
  }

  batchCap(st: State, out: BatchPlan): bool {
    // The floor and the ceiling in force under the host's own limit.
    let high = max<u32>(st.maxNumSeqs, 1);
    if (this.ceiling > 0) high = min<u32>(high, this.ceiling);
    const low = min<u32>(this.floor, high);
    this.begin(st.stepId, low, high);
    if (!measured(st)) {
      this.cap = high;
      this.judged = this.settled = st.stepId;
    } else if (st.running > 0 && st.stepId - this.judged >= this.hold) {
      this.judged = st.stepId;
      this.adjust(measure(st), st.running, low, high);
    }
    out.maxSeqs = this.cap;
    out.holdSteps = <u32>this.hold - 1;
    return true;
  }

  private begin(step: u64, low: u32, high: u32): void {
    if (this.cap == 0) {
      this.cap = high;
      this.judged = step;
    }
    this.cap = min<u32>(max<u32>(this.cap, low), high);
    if (step < this.judged) this.judged = this.settled = step; // restored from another run
  }

  private adjust(ns: i64, running: u32, low: u32, high: u32): void {
    if (running > this.cap) {
      this.settled = this.judged + this.settle;
    } else if (ns > this.target && this.judged >= this.settled) {
      this.cut(ns, running, low);
    } else if (ns < this.resume) {
      this.warned = false;
      if (running == this.cap) this.cap = min<u32>(this.cap + this.increase, high);
    }
  }

  private cut(ns: i64, running: u32, low: u32): void {
    if (this.cap == low && !this.warned) {
      this.warned = true;
      line("tpot=").int(this.target / 1000).text("us is not held even at max_seqs=").uint(low).text(": ").int(ns / 1000).text("us").warn();
    }
    this.cap = max<u32>(<u32>(<i64>running * this.decrease / ONE), low);
    this.settled = this.judged + this.settle;
  }

  save(to: Writer): void {
    if (this.cap != 0) to.u8(STATE_VERSION).u32(this.cap).u64(this.judged);
  }

  /** The cap is brought into this version's bounds at the next step. */
  restore(from: Reader): string | null {
    if (from.length != STATE_SIZE || from.u8() != STATE_VERSION) return "the saved state is not one of tpot-cap's version 1";
    this.cap = from.u32();
    this.judged = from.u64();
    this.settled = this.judged + this.settle;
    return null;
  }
}

function measured(st: State): bool { return st.hasDecodeStepP50Ns || st.hasMinStepNs || st.hasItlP50Ns; }

/** The time of a step for the batch alone, as near as it is known, or that of a token where that is less. */
function measure(st: State): i64 {
  if (!st.hasDecodeStepP50Ns && !st.hasMinStepNs) return st.itlP50Ns;
  const batch = st.hasDecodeStepP50Ns ? st.decodeStepP50Ns : st.minStepNs;
  return st.hasItlP50Ns ? min<i64>(batch, st.itlP50Ns) : batch;
}

register(new TpotCap());
