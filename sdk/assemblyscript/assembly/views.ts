// What a policy sees of the rows and events, and of the room for its answers: views of the host's memory, each checked
// against the number of rows of the call. They are the SDK's, and valid until the hook returns.

import { Event, EVENT_SIZE, RANKING_SIZE, ROW_SIZE, SPEC_PLAN_SIZE, VERDICT_SIZE } from "./layout.gen";
import { EVENTS, OUT, ROWS } from "./memory";
import { Ranking, Row, Verdict } from "./values";

/** What all views have in common. */
class View {
  /** How many there are: as many as rows or events. */
  length: i32 = 0;

  @inline protected check(i: i32): void {
    if (<u32>i >= <u32>this.length) throw new RangeError("index out of range");
  }
}

/** The requests of one call. */
export class Rows extends View {
  /** Bytes from one row to the next: what the policy declares to read, and no more. */
  stride: u32 = ROW_SIZE;

  @operator("[]") at(i: i32): Row {
    this.check(i);
    return changetype<Row>(ROWS + <usize>i * <usize>this.stride);
  }
}

/** What happened since the last step. */
export class Events extends View {
  @operator("[]") at(i: i32): Event {
    this.check(i);
    return changetype<Event>(EVENTS + <usize>i * <usize>EVENT_SIZE);
  }
}

/** A verdict for each row. */
export class Verdicts extends View {
  @operator("[]") at(i: i32): Verdict {
    this.check(i);
    return changetype<Verdict>(OUT + <usize>i * <usize>VERDICT_SIZE);
  }
}

/** A ranking for each row. */
export class Rankings extends View {
  @operator("[]") at(i: i32): Ranking {
    this.check(i);
    return changetype<Ranking>(OUT + <usize>i * <usize>RANKING_SIZE);
  }
}

/** Draft tokens for each row; -1 is the plan's k. */
export class Drafts extends View {
  @operator("[]") at(i: i32): i32 {
    this.check(i);
    return load<i32>(OUT + <usize>i * 4, <usize>SPEC_PLAN_SIZE);
  }

  @operator("[]=") set(i: i32, k: i32): void {
    this.check(i);
    store<i32>(OUT + <usize>i * 4, k, <usize>SPEC_PLAN_SIZE);
  }
}

// One of each serves all calls.
export const rows = new Rows();
export const events = new Events();
export const verdicts = new Verdicts();
export const rankings = new Rankings();
export const drafts = new Drafts();
