// Class-priority serves the more important class first, without ever starving the others. It decides what
// policies/class-priority decides, where its rules and settings are described.

import {
  CLASSES, Config, Configurer, FieldReader, Group, HOUR, Phase, Prioritizer, RankFlag, Ranking, Rankings, register, Row, Rows, SECOND,
  State,
} from "../assembly";
export { sluice_abi_v1, sluice_configure, sluice_prioritize } from "../assembly/exports";

// A score is, from its high bits to its low ones: the level, the client's priority, and the age in microseconds, reversed.
const AGE_BITS: i64 = 36; // 19 hours
const PRIORITY_BITS: i64 = 16;
const LEVEL_SHIFT: i64 = AGE_BITS + PRIORITY_BITS;

const MAX_AGE: i64 = (1 << AGE_BITS) - 1;
const MAX_PRIORITY: i32 = (1 << (PRIORITY_BITS as i32 - 1)) - 1;
const MIN_PRIORITY: i32 = -MAX_PRIORITY - 1;
const MIN_LEVEL: i64 = -1024;

class ClassPriority implements Configurer, FieldReader, Prioritizer {
  private ageStep: i64 = 0; // ns
  private preempt: bool = false;
  private limit: u32 = 0;

  private victims: Victims = new Victims();
  // What waits: the row that goes first and the first one that has a victim; -1 for none.
  private head: i32 = -1;
  private claimant: i32 = -1;

  reads(): Group { return Group.RowKV | Group.RowTimes; }

  configure(c: Config): string | null {
    this.ageStep = c.duration("age_step", 5 * SECOND, SECOND / 10, 24 * HOUR);
    this.preempt = c.bool("preempt", true);
    this.limit = <u32>c.int("preempt_limit", 4, 0, 100);
    return null;
  }

  prioritize(_st: State, rows: Rows, out: Rankings): bool {
    this.rankBatch(rows, out);
    this.rankQueue(rows, out);
    if (this.claimant >= 0) this.claim(rows, out);
    return true;
  }

  private rankBatch(rows: Rows, out: Rankings): void {
    this.victims.begin();
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i];
      if (!r.in(Phase.Running)) continue;
      this.rankRunning(r, out[i]);
      if (this.preempt && r.preemptions < this.limit) this.victims.add(r.classIndex, out[i].score >> LEVEL_SHIFT);
    }
    this.victims.end();
  }

  private rankQueue(rows: Rows, out: Rankings): void {
    this.head = this.claimant = -1;
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i];
      if (r.in(Phase.Running)) continue;
      const o = out[i];
      this.rankWaiting(r, o);
      if (!r.in(Phase.Queued)) continue;
      if (this.head < 0 || o.score < out[this.head].score) this.head = i;
      if (this.victims.of(r.classIndex, o.score >> LEVEL_SHIFT) && (this.claimant < 0 || o.score < out[this.claimant].score)) this.claimant = i;
    }
  }

  /** Has the claimant go first: it alone may take a place. */
  private claim(rows: Rows, out: Rankings): void {
    const c = out[this.claimant];
    const level = c.score >> LEVEL_SHIFT;
    if (this.claimant != this.head) c.score = out[this.head].score - 1;
    c.allow(RankFlag.MayPreempt);
    shield(rows, out, rows[this.claimant].classIndex, level, c.score);
  }

  private rankWaiting(r: Row, out: Ranking): void {
    const age = max<i64>(r.ageNs, 0);
    out.score = score(this.level(r, age), r.priority, age);
  }

  /** Scores what runs at the best of its level, so that no request of the same level is strictly better. */
  private rankRunning(r: Row, out: Ranking): void {
    const age = max<i64>(r.ageNs, 0);
    const waited = r.hasFirstTokenNs ? min<i64>(max<i64>(r.firstTokenNs - r.arrivalNs, 0), age) : age;
    out.score = this.level(r, waited) << LEVEL_SHIFT;
    out.victimRank = (<i64>r.classIndex << AGE_BITS) + youth(age);
    if (r.preemptions >= this.limit) out.allow(RankFlag.Pinned);
  }

  /** The class after ageing; lower is better, and it has no lower end that anyone would reach. */
  private level(r: Row, waited: i64): i64 { return max<i64>(<i64>r.classIndex - waited / this.ageStep, MIN_LEVEL); }
}

/**
 * For each class, the worst level among the running requests of less important classes that may lose their places.
 */
class Victims {
  private worst: StaticArray<i64> = new StaticArray<i64>(CLASSES);

  begin(): void { this.worst.fill(MIN_LEVEL); }

  /** Takes a running request; end must follow the last one. */
  add(at: i32, level: i64): void { this.worst[at] = max<i64>(this.worst[at], level); }

  /** Turns the worst level of each class into that of the classes below it. */
  end(): void {
    let worst = MIN_LEVEL;
    for (let c = CLASSES - 1; c >= 0; c--) {
      const own = this.worst[c];
      this.worst[c] = worst;
      worst = max<i64>(worst, own);
    }
  }

  /** Whether a waiting request has a victim: one of a less important class and of a worse level. */
  of(at: i32, level: i64): bool { return this.worst[at] > level; }
}

/** Keeps what a claimant of that class and level may not displace from scoring worse than it. */
function shield(rows: Rows, out: Rankings, at: i32, level: i64, score: i64): void {
  for (let i = 0; i < rows.length; i++) {
    const r = rows[i];
    const o = out[i];
    if (r.in(Phase.Running) && (r.classIndex <= at || o.score >> LEVEL_SHIFT <= level)) o.score = min<i64>(o.score, score);
  }
}

/** Lower for who goes first. Priorities beyond 16 bits count as the outermost ones. */
function score(level: i64, priority: i32, age: i64): i64 {
  const p = <i64>(min(max(priority, MIN_PRIORITY), MAX_PRIORITY) - MIN_PRIORITY);
  return (level << LEVEL_SHIFT) + (p << AGE_BITS) + youth(age);
}

/** The age in microseconds, reversed: greater for the younger one. */
function youth(age: i64): i64 { return MAX_AGE - min<i64>(age / 1000, MAX_AGE); }

register(new ClassPriority());
