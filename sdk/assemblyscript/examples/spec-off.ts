// Spec-off drafts where that pays, and not at all where it does not. It decides what policies/spec-off decides, where its rules and
// settings are described.

import {
  Config, Configurer, Drafts, EWMA, FieldReader, Group, Hysteresis, MAX_DRAFT, MAX_ROWS, ONE, register, Rows, SpecPlan, Speculator, State,
} from "../assembly";
export { sluice_abi_v1, sluice_configure, sluice_speculate } from "../assembly/exports";

class SpecOff implements Configurer, FieldReader, Speculator {
  private k: u32 = 0;
  private limited: bool = false; // max_batch was given
  private probeEvery: u64 = 0;

  private large: Hysteresis = new Hysteresis(0, 0); // the batch is too large for drafts
  private drafts: Acceptance = new Acceptance(0);
  private probed: u64 = 0; // the step of the last probe, or of the last draft before drafts became poor

  reads(): Group { return Group.Speculation | Group.RowSpeculation; }

  configure(c: Config): string | null {
    const given = c.int("max_batch", 0, 0, MAX_ROWS);
    this.limited = given > 0;
    const most = given > 0 ? given : UNMEASURED;
    this.k = <u32>c.int("k", MAX_DRAFT, 0, MAX_DRAFT);
    const band = c.int("band", 1, 0, MAX_ROWS - 1);
    const hold = c.int("hold_steps", 16, 0, 100_000);
    this.large = new Hysteresis(most, max<i64>(most - band, 1), hold);
    this.drafts = new Acceptance(c.ratio("min_accept", ONE / 10, 0, ONE));
    this.probeEvery = <u64>c.int("probe_every", 64, 1, 100_000);
    return null;
  }

  speculate(st: State, rows: Rows, out: SpecPlan, k: Drafts): bool {
    this.drafts.learn(st.drafted, st.accepted);
    const large = this.large.update(<i64>st.stepId, <i64>st.running);
    if (rows.length > 0 && rows[0].hasKGoodput) {
      this.probed = st.stepId;
      if (!large || !this.limited) this.takeWhatPays(st, rows, out, k);
      return true;
    }
    if (large) return true;
    if (this.drafts.poor) {
      if (st.stepId - this.probed < this.probeEvery) return true;
      out.probe = 1;
    }
    this.probed = st.stepId;
    out.k = min<u32>(this.k, st.kMax);
    for (let i = 0; i < rows.length; i++) {
      if (rows[i].speculationAllowed == 0) k[i] = 0;
    }
    return true;
  }

  private takeWhatPays(st: State, rows: Rows, out: SpecPlan, k: Drafts): void {
    out.k = min<u32>(this.k, st.kMax);
    for (let i = 0; i < rows.length; i++) {
      k[i] = rows[i].hasKGoodput ? <i32>min<u32>(out.k, rows[i].kGoodput) : 0;
    }
  }
}

/** max_batch where the host knows nothing of its steps and no other was given. */
const UNMEASURED: i64 = 4;

/** How many verified drafts make one sample of the average. A single step's share says little. */
const EVIDENCE: u64 = 32;

/** Follows the share of accepted drafts by the host's running totals. */
class Acceptance {
  private mean: EWMA = new EWMA(2); // ppm
  private rejected: Hysteresis; // of ONE - mean

  // The totals up to the last sample.
  private drafted: u64 = 0;
  private accepted: u64 = 0;
  private begun: bool = false;

  constructor(least: i64) {
    this.rejected = new Hysteresis(ONE - least, ONE - min<i64>(least + least / 4, ONE));
  }

  /** Takes the totals. Totals that went back belong to another run of the host: counting starts anew. */
  learn(drafted: u64, accepted: u64): void {
    const anew = !this.begun || drafted < this.drafted || accepted < this.accepted;
    const d = drafted - this.drafted;
    if (!anew && d < EVIDENCE) return;
    if (!anew) this.sample(accepted - this.accepted, d);
    this.begun = true;
    this.drafted = drafted;
    this.accepted = accepted;
  }

  private sample(ok: u64, d: u64): void {
    this.mean.add(<i64>ppm(ok, d));
    this.rejected.update(0, ONE - this.mean.value);
  }

  /** Whether drafts are not worth verifying. */
  get poor(): bool { return this.rejected.on; }
}

/** ok of d in ppm, at most ONE, without overflow for totals of any size. */
function ppm(ok: u64, d: u64): u64 {
  if (ok >= d) return <u64>ONE;
  while (d >= 1 << 40) {
    ok >>= 1;
    d >>= 1;
  }
  return ok * <u64>ONE / d;
}

register(new SpecOff());
