// A policy with every hook, for the tests of the SDK. What it answers depends on all that it is shown, so that a misplaced byte
// changes an answer: as sdk/go/testdata/everything, it also answers what that one does.

import {
  Admitter, BatchCapper, BatchPlan, Config, Configurer, Drafts, Events, EventSink, HOUR, MAX_DRAFT, metric, Phase, Prioritizer, RankFlag, Rankings,
  Reader, Reason, register, Rows, SECOND, SpecPlan, Speculator, State, StateSaver, Verdicts, Writer,
} from "../../assembly";
export {
  sluice_abi_v1, sluice_admit, sluice_batch_cap, sluice_configure, sluice_events, sluice_prioritize, sluice_restore, sluice_save,
  sluice_speculate,
} from "../../assembly/exports";

class Everything implements Admitter, BatchCapper, Configurer, EventSink, Prioritizer, Speculator, StateSaver {
  private limit: i64 = 0;
  private sum: u32 = 0;

  configure(c: Config): string | null {
    this.limit = c.duration("limit", SECOND, 0, HOUR);
    return c.string("why", "") != "" ? "told to refuse" : null;
  }

  admit(st: State, rows: Rows, out: Verdicts): void {
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i];
      if (r.in(Phase.Arrival)) continue;
      if (r.waitNs > this.limit) {
        out[i].reject(429, Reason.QueueAge).retryAfter(r.waitNs);
      } else {
        out[i].degrade().maxTokens(r.maxTokens / 2).speculation(<i32>st.kMax).asClass(3).priority(r.priority - 1);
      }
    }
  }

  prioritize(st: State, rows: Rows, out: Rankings): bool {
    for (let i = 0; i < rows.length; i++) {
      const o = out[i];
      o.score = rows[i].arrivalNs;
      o.victimRank = <i64>rows[i].tenantServedOut;
      o.allow(RankFlag.Protected);
    }
    return st.running > 0;
  }

  batchCap(st: State, out: BatchPlan): bool {
    out.maxSeqs = st.maxNumSeqs;
    out.setClassMaxSeqs(15, st.classes(15).waiting);
    out.maxBatchedTokens = <u32>st.stepCostNs(127);
    return true;
  }

  speculate(st: State, rows: Rows, out: SpecPlan, k: Drafts): bool {
    out.k = min<u32>(st.kMax, <u32>MAX_DRAFT);
    for (let i = 0; i < rows.length; i++) {
      if (rows[i].speculationAllowed == 0) k[i] = 0;
    }
    return true;
  }

  events(_st: State, events: Events): void {
    for (let i = 0; i < events.length; i++) this.sum += <u32>events[i].value;
    metric(3, <i64>this.sum);
  }

  save(to: Writer): void { to.u8(<u8>this.sum).u8(<u8>(this.sum >> 8)); }

  restore(from: Reader): string | null {
    if (from.length != 2) return "not two bytes";
    this.sum = <u32>from.u16();
    return null;
  }
}

register(new Everything());
