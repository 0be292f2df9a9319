// Queue-age sheds what has waited too long, so that a server in overload spends its time on requests whose clients are
// still there. It decides what policies/queue-age decides, where its rules and settings are described.

import {
  Admitter, CLASSES, Config, Configurer, FieldReader, Group, HOUR, HostState, MILLISECOND, ONE, Phase, Reason, register, Row, Rows,
  SECOND, State, Verdict, Verdicts,
} from "../assembly";
export { sluice_abi_v1, sluice_admit, sluice_configure } from "../assembly/exports";

class QueueAge implements Admitter, Configurer, FieldReader {
  private maxAge: StaticArray<i64> = new StaticArray<i64>(CLASSES); // ns
  private pressedAge: StaticArray<i64> = new StaticArray<i64>(CLASSES); // ns; the same under pressure
  private arrivalFactor: i64 = 0; // ppm
  private status: i32 = 0;

  private paused: bool = false;
  private resumedAt: i64 = 0; // ns; waits count from here on

  private limit: StaticArray<i64> = new StaticArray<i64>(CLASSES); // ns; the ages in force
  private places: Places = new Places();

  reads(): Group { return Group.Speed | Group.Classes; }

  configure(c: Config): string | null {
    this.maxAge = c.classDurations("max_age", 10 * SECOND, MILLISECOND, 24 * HOUR);
    const pressure = c.ratio("pressure", ONE / 2, 0, ONE);
    for (let i = 0; i < CLASSES; i++) this.pressedAge[i] = share(this.maxAge[i], pressure);
    this.arrivalFactor = c.ratio("arrival_factor", 0, 0, 1000 * ONE);
    this.status = i32.parse(c.oneOf("status", ["503", "429", "529"]));
    return null;
  }

  admit(st: State, rows: Rows, out: Verdicts): void {
    this.follow(st);
    if (!this.paused) this.judgeQueued(st, rows, out);
    if (this.arrivalFactor > 0 && st.hasEstimatedWaitNs && st.waitingRequests > 0) this.judgeArrivals(st, rows, out);
  }

  /** Notices pauses. */
  private follow(st: State): void {
    const paused = st.hostState == <u8>HostState.Paused;
    if (this.paused && !paused) this.resumedAt = st.nowNs;
    this.paused = paused;
  }

  private judgeQueued(st: State, rows: Rows, out: Verdicts): void {
    const counted = st.nowNs - this.resumedAt;
    this.setLimits(st, counted);
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i];
      if (r.in(Phase.Queued) && min<i64>(r.waitNs, counted) > this.limit[r.classIndex]) this.shed(r, counted, out[i]);
    }
  }

  /** Below the first class under pressure the ages in force are shorter. Of a wait only counted ns count. */
  private setLimits(st: State, counted: i64): void {
    let pressed = false;
    for (let c = 0; c < CLASSES; c++) {
      this.limit[c] = pressed ? this.pressedAge[c] : this.maxAge[c];
      const k = st.classes(c);
      pressed = pressed || k.waiting > 0 && min<i64>(k.oldestWaitNs, counted) > this.pressedAge[c];
    }
  }

  private shed(r: Row, counted: i64, out: Verdict): void {
    const late = min<i64>(r.waitNs, counted) > this.maxAge[r.classIndex];
    out.reject(this.status, late ? Reason.QueueAge : Reason.Priority);
  }

  private judgeArrivals(st: State, rows: Rows, out: Verdicts): void {
    for (let c = 0; c < CLASSES; c++) this.places.room[c] = share(this.maxAge[c], this.arrivalFactor);
    this.places.count(st);
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i];
      if (r.in(Phase.Arrival) && !this.places.take(r.classIndex)) out[i].reject(this.status, Reason.QueueAge);
    }
  }
}

/**
 * For each class, how many more may come to stand before its next request. Arrivals of one burst take them from each other: what
 * stands before a request is its own class and the more important ones.
 */
class Places {
  room: StaticArray<i64> = new StaticArray<i64>(CLASSES);

  /** Turns the longest wait of each class in ns into places, at what a place in the queue takes now. */
  count(st: State): void {
    const each = max<i64>(st.estimatedWaitNs / <i64>st.waitingRequests, 1);
    let ahead: i64 = 0;
    for (let c = 0; c < CLASSES; c++) {
      ahead += <i64>st.classes(c).waiting;
      this.room[c] = this.room[c] / each - ahead;
    }
  }

  /** Lets a request in and returns true, unless it would wait too long. */
  take(at: i32): bool {
    if (this.room[at] < 0) return false;
    for (let c = at; c < CLASSES; c++) this.room[c]--;
    return true;
  }
}

/** ns times a ratio in ppm. It does not overflow for a day and a ratio of a thousand. */
function share(ns: i64, ppm: i64): i64 { return ns / ONE * ppm + ns % ONE * ppm / ONE; }

register(new QueueAge());
