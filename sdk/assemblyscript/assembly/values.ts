import { Action, Phase, Ranking as RankingFields, RankFlag, Reason, Row as RowFields, Verdict as VerdictFields, VERDICT_SIZE } from "./layout.gen";
import { CLASSES, MILLISECOND } from "./units";

/** One request as a policy sees it. */
@unmanaged export class Row extends RowFields {
  /** Whether the row is shown in this phase. */
  in(p: Phase): bool { return <i32>this.phase == <i32>p; }

  /** The class as an index into arrays of CLASSES elements: in range whatever the byte says. */
  get classIndex(): i32 { return <i32>this.class & (CLASSES - 1); }
}

/** The decision on one request of prioritize. */
@unmanaged export class Ranking extends RankingFields {
  /** Adds a flag. */
  allow(f: RankFlag): Ranking { this.flags |= <u32>f; return this; }
}

/**
 * The decision on one request of admit. abstain, admit, degrade and reject begin it anew; the others add to it, so that
 * they can be chained: out[i].reject(429, Reason.Quota).retryAfter(2 * SECOND).
 */
@unmanaged export class Verdict extends VerdictFields {
  /** Leaves a request to the next policy of the chain, or to the host. */
  abstain(): Verdict { return this.begin(Action.Abstain); }

  /** Lets a request in. */
  admit(): Verdict { return this.begin(Action.Admit); }

  /** Lets a request in under the limits that are set on the verdict. */
  degrade(): Verdict { return this.begin(Action.Degrade); }

  /**
   * Ends a request with an HTTP status (429, 503 or 529; 0 = 503) and a reason. Without retryAfter the host computes the
   * Retry-After from the rate at which the queue drains.
   */
  reject(status: i32, reason: Reason): Verdict {
    this.begin(Action.Reject);
    this.status = <u16>status;
    this.reason = <u16>reason;
    return this;
  }

  /** How long the client is to wait, in ns, rounded up to a millisecond. */
  retryAfter(ns: i64): Verdict { this.retryAfterMs = milliseconds(ns); return this; }

  /** Limits the further time in the queue, in ns, rounded up to a millisecond. */
  queueTtl(ns: i64): Verdict { this.queueTtlMs = milliseconds(ns); return this; }

  /** Has the request treated as one of another class, 0 to CLASSES-1. */
  asClass(c: i32): Verdict { this.classOverride = <i8>(c & (CLASSES - 1)); return this; }

  /** Has the request treated as one of another client priority; lower is earlier. */
  priority(p: i32): Verdict { this.priorityOverride = p; this.hasPriority = 1; return this; }

  /** Limits the output tokens; 0 is no limit. */
  maxTokens(n: u32): Verdict { this.maxTokensCap = n; return this; }

  /** Limits the draft tokens a step; 0 turns them off for this request. */
  speculation(k: i32): Verdict { this.speculationCap = max(k, 0); return this; }

  /** Gives an admission a reason. */
  because(r: Reason): Verdict { this.reason = <u16>r; return this; }

  private begin(a: Action): Verdict {
    memory.fill(changetype<usize>(this), 0, <usize>VERDICT_SIZE);
    this.action = <u8>a;
    this.classOverride = -1;
    this.speculationCap = -1;
    return this;
  }
}

/** Rounds up, so that a wish of 1 ns is not none at all. */
function milliseconds(ns: i64): u32 {
  if (ns <= 0) return 0;
  return <u32>min<i64>((ns - 1) / MILLISECOND + 1, 0xffff_ffff);
}
