// The functions of the ABI. A policy's entry file exports sluice_abi_v1 and those of the interfaces that it implements:
//
//   export { sluice_abi_v1, sluice_configure, sluice_admit } from "@sluice/policy/assembly/exports";
//
// The host refuses a module that implements a hook and does not export its function.

import { parseConfig } from "./json";
import { BATCH_PLAN_SIZE, BatchPlan, Descriptor, EVENT_SIZE, MAJOR, MINOR, RANKING_SIZE, Return, SPEC_PLAN_SIZE, SpecPlan, State, stateBytes } from "./layout.gen";
import { line } from "./log";
import "./panic";
import { CONFIG, CONFIG_ROOM, DESCRIPTOR, EVENTS, OUT, OUT_ROOM, ROWS, SAVED, STATE } from "./memory";
import { admitter, batchCapper, configurer, eventSink, hooks, prioritizer, reads, speculator, stateSaver } from "./register";
import { Reader, Writer } from "./saved";
import { MAX_ROWS } from "./units";
import { drafts, events, rankings, rows, verdicts } from "./views";

/** A return value that the host takes for a failure: it called for something that the descriptor does not offer. */
const FAULT: i32 = -1;
const MAGIC: u32 = 0x45434c53; // "SLCE"

const writer = new Writer();
const reader = new Reader();

function state(): State { return changetype<State>(STATE); }

/** Whether the host's n fits the buffers. */
function within(n: i32): bool { return <u32>n <= <u32>MAX_ROWS; }

function result(decided: bool): i32 { return decided ? Return.Decided : Return.Abstain; }

export function sluice_abi_v1(): usize {
  const d = changetype<Descriptor>(DESCRIPTOR);
  d.magic = MAGIC;
  d.major = MAJOR;
  d.minor = MINOR;
  d.hooks = hooks;
  d.reads = reads;
  d.statePtr = <u32>STATE;
  d.stateCap = stateBytes(reads);
  d.rowsPtr = <u32>ROWS;
  d.rowsCap = <u32>MAX_ROWS * rows.stride;
  d.rowStride = rows.stride;
  d.outPtr = <u32>OUT;
  d.outCap = OUT_ROOM;
  d.configPtr = <u32>CONFIG;
  d.configCap = <u32>CONFIG_ROOM;
  d.eventsPtr = <u32>EVENTS;
  d.eventsCap = <u32>MAX_ROWS * EVENT_SIZE;
  return DESCRIPTOR;
}

export function sluice_configure(n: i32): i32 {
  const p = configurer;
  if (!p || <u32>n > <u32>CONFIG_ROOM) return FAULT;
  const c = parseConfig(CONFIG, n);
  if (!c.broken) c.add(p.configure(c));
  const wrong = c.wrong();
  if (!wrong) return 0;
  line(wrong).error();
  return 1;
}

export function sluice_admit(n: i32): i32 {
  const p = admitter;
  if (!p || !within(n)) return FAULT;
  rows.length = verdicts.length = n;
  for (let i = 0; i < n; i++) verdicts[i].abstain();
  p.admit(state(), rows, verdicts);
  return Return.Decided;
}

export function sluice_prioritize(n: i32): i32 {
  const p = prioritizer;
  if (!p || !within(n)) return FAULT;
  rows.length = rankings.length = n;
  memory.fill(OUT, 0, <usize>n * <usize>RANKING_SIZE);
  return result(p.prioritize(state(), rows, rankings));
}

export function sluice_batch_cap(): i32 {
  const p = batchCapper;
  if (!p) return FAULT;
  memory.fill(OUT, 0, <usize>BATCH_PLAN_SIZE);
  return result(p.batchCap(state(), changetype<BatchPlan>(OUT)));
}

export function sluice_speculate(n: i32): i32 {
  const p = speculator;
  if (!p || !within(n)) return FAULT;
  rows.length = drafts.length = n;
  memory.fill(OUT, 0, <usize>SPEC_PLAN_SIZE);
  memory.fill(OUT + <usize>SPEC_PLAN_SIZE, 0xff, <usize>n * 4); // -1 each
  return result(p.speculate(state(), rows, changetype<SpecPlan>(OUT), drafts));
}

export function sluice_events(n: i32): i32 {
  const p = eventSink;
  if (!p || !within(n)) return FAULT;
  events.length = n;
  p.events(state(), events);
  return Return.Decided;
}

/** Returns address and length of the bytes to keep; the host reads them before it calls again. */
export function sluice_save(): i64 {
  const p = stateSaver;
  if (!p) return 0;
  writer.length = 0;
  p.save(writer);
  return writer.length == 0 ? 0 : <i64>SAVED << 32 | <i64>writer.length;
}

export function sluice_restore(n: i32): i32 {
  const p = stateSaver;
  if (!p || <u32>n > <u32>CONFIG_ROOM) return FAULT;
  const wrong = p.restore(reader.begin(n));
  if (!wrong) return Return.Decided;
  line(wrong).warn();
  return Return.Abstain;
}
