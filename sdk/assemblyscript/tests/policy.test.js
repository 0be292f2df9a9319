// A policy is what the ABI asks for, and sees what the host shows.

import assert from "node:assert/strict";
import test from "node:test";
import { Action, compile, Hook, MILLISECOND, Phase, Policy, RankFlag, Reason, SECOND } from "../testing/index.js";
import { layouts, MAJOR, MINOR } from "../testing/layout.gen.js";

const everything = await compile("tests/assembly/everything.ts");
const mistakes = await compile("tests/assembly/mistakes.ts");

function started(settings = {}) {
  const policy = new Policy(everything);
  policy.configure(settings);
  return policy;
}

test("descriptor", () => {
  const d = new Policy(everything).descriptor;
  const all = Object.values(Hook).reduce((a, b) => a | b);
  assert.deepEqual([d.magic, d.major, d.minor, d.hooks, d.flags, d.reads], [0x45434c53, MAJOR, MINOR, all, 0, 0]);
  assert.deepEqual([d.stateCap, d.rowStride, d.rowsCap], [layouts.State.size, layouts.Row.size, 256 * layouts.Row.size]);
  assert.deepEqual([d.outCap, d.configCap, d.eventsCap], [256 * layouts.Verdict.size, 16 << 10, 256 * layouts.Event.size]);
  const regions = [[d.statePtr, d.stateCap], [d.rowsPtr, d.rowsCap], [d.outPtr, d.outCap], [d.configPtr, d.configCap], [d.eventsPtr, d.eventsCap]];
  regions.sort(([a], [b]) => a - b);
  regions.forEach(([at, size], i) => {
    assert.equal(at % 8, 0);
    assert.ok(i === 0 || regions[i - 1][0] + regions[i - 1][1] <= at, "two regions overlap");
    assert.ok(at + size <= new Policy(everything).memory.buffer.byteLength);
  });
});

test("a module exports the functions of its hooks and imports two of the host's", () => {
  const module = new WebAssembly.Module(mistakes);
  assert.deepEqual(WebAssembly.Module.exports(module).map((x) => x.name).sort(), ["_initialize", "memory", "sluice_abi_v1", "sluice_events", "sluice_restore", "sluice_save"]);
  assert.deepEqual(WebAssembly.Module.imports(module).map((x) => `${x.module}.${x.name}`), ["sluice.log"]);
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(everything)).map((x) => x.name).sort(), ["log", "metric"]);
  assert.equal(new Policy(mistakes).descriptor.hooks, Hook.Events | Hook.State);
});

test("configure", () => {
  for (const [settings, wrong] of [
    [{}, null],
    [{ limit: "2s" }, null],
    [{ limit: "soon" }, 'limit="soon": not a duration: write it like 2s, 500ms or 1m30s'],
    [{ limits: "2s" }, 'unknown key "limits": known are limit, why'],
    [{ why: "x", "\u00e9\n": "" }, 'told to refuse; unknown key "\u00e9\n": known are limit, why'],
  ]) {
    const policy = new Policy(everything);
    if (wrong === null) policy.configure(settings);
    else assert.throws(() => policy.configure(settings), { message: wrong });
  }
});

test("admit", () => {
  const got = started({ limit: "3s" }).admit({ kMax: 7 }, [
    { phase: Phase.Arrival },
    { phase: Phase.Queued, waitNs: 3n * SECOND + 1n },
    { phase: Phase.Queued, waitNs: 3n * SECOND, maxTokens: 100, priority: 5 },
  ]);
  const neutral = {
    action: Action.Abstain, classOverride: -1, status: 0, reason: 0, retryAfterMs: 0, queueTtlMs: 0, maxTokensCap: 0, speculationCap: -1,
    priorityOverride: 0, hasPriority: 0,
  };
  assert.deepEqual(got, [
    neutral,
    { ...neutral, action: Action.Reject, status: 429, reason: Reason.QueueAge, retryAfterMs: 3001 },
    { ...neutral, action: Action.Degrade, maxTokensCap: 50, speculationCap: 7, classOverride: 3, priorityOverride: 4, hasPriority: 1 },
  ]);
});

test("times are rounded up to milliseconds and cut off at 32 bits", () => {
  const policy = started({ limit: "0" });
  for (const [ns, ms] of [[1n, 1], [MILLISECOND, 1], [MILLISECOND + 1n, 2], [SECOND, 1000], [(1n << 63n) - 1n, 0xffff_ffff]]) {
    assert.equal(policy.admit({}, [{ phase: Phase.Queued, waitNs: ns }])[0].retryAfterMs, ms);
  }
});

test("prioritize sees all rows", () => {
  const rows = Array.from({ length: 256 }, (_, i) => ({ arrivalNs: BigInt(i) << 40n, tenantServedOut: 1000 - i }));
  const got = started().prioritize({ running: 1 }, rows);
  got.forEach((r, i) => assert.deepEqual(r, { score: BigInt(i) << 40n, victimRank: BigInt(1000 - i), flags: RankFlag.Protected }));
  assert.equal(started().prioritize({}, []), null);
});

test("batch cap sees the arrays", () => {
  const plan = started().batchCap({ maxNumSeqs: 12, classes: { 15: { waiting: 34 } }, stepCostNs: { 127: 56 } });
  assert.deepEqual([plan.maxSeqs, plan.maxBatchedTokens, plan.classMaxSeqs[15], plan.classMaxSeqs[14]], [12, 56, 34, 0]);
});

test("speculate", () => {
  const plan = started().speculate({ kMax: 5 }, [{ speculationAllowed: 1 }, {}, { speculationAllowed: 1 }]);
  assert.deepEqual([plan.k, plan.probe, plan.rows], [5, 0, [-1, 0, -1]]);
});

test("events, metrics and state", () => {
  const policy = started();
  policy.events({}, [{ value: 300 }, { value: 7 }]);
  assert.equal(policy.metrics.get(3), 307n);
  const saved = policy.save();
  assert.deepEqual([...saved], [51, 1]);
  const next = started();
  next.restore(saved);
  next.events({}, [{ value: 1 }]);
  assert.deepEqual([...next.save()], [52, 1]);
  assert.throws(() => next.restore(Uint8Array.of(1)), { message: "not two bytes" });
});

test("a host that passes more than the descriptor offers gets a fault and no trap", () => {
  const policy = started();
  for (const name of ["sluice_admit", "sluice_prioritize", "sluice_speculate", "sluice_events"]) {
    for (const n of [257, -1, 0x7fff_ffff]) assert.equal(policy.call(name, n), -1);
  }
  for (const name of ["sluice_configure", "sluice_restore"]) assert.equal(policy.call(name, (16 << 10) + 1), -1);
});

test("what goes wrong is logged with its place, and traps", () => {
  for (const [kNow, said] of [
    [0, /^panic: out of ideas: “😀” \(tests\/assembly\/mistakes.ts:12\)$/],
    [1, /^panic: index out of range \(assembly\/views.ts:\d+\)$/],
  ]) {
    const policy = new Policy(mistakes);
    assert.throws(() => policy.events({ kNow }, [{}]), WebAssembly.RuntimeError);
    assert.match(policy.logs.at(-1), said);
  }
  assert.throws(() => new Policy(mistakes).events({ kNow: 2 }, []), WebAssembly.RuntimeError);
  const policy = new Policy(mistakes);
  assert.throws(() => policy.save(), WebAssembly.RuntimeError);
  assert.match(policy.logs.at(-1), /^panic: more than 4096 bytes to save \(/);
});

test("a read beyond what was saved gives 0", () => {
  assert.throws(() => new Policy(mistakes).restore(Uint8Array.of(7, 0, 0, 0, 1, 1)), { message: "7 2 0 0" });
});

test("log lines hold numbers and UTF-8, and are cut off", () => {
  const policy = new Policy(mistakes);
  policy.events({ kNow: 4 }, []);
  assert.equal(policy.logs.at(-1), "a-1 é€😀\ufffd18446744073709551615 -9223372036854775808true");
  policy.events({ kNow: 5 }, []);
  assert.equal(policy.logs.at(-1), "€uro".repeat(85) + "\ufffd");
});

test("a hook that allocates grows the memory, and others do not", () => {
  const policy = new Policy(mistakes);
  assert.ok(policy.growth(() => policy.events({ kNow: 3 }, [])) > 0);
  const other = started();
  const rows = Array.from({ length: 8 }, (_, i) => ({ phase: i % 4, waitNs: BigInt(i) * SECOND }));
  assert.equal(other.growth(() => {
    other.admit({}, rows);
    other.prioritize({ running: 1 }, rows);
    other.batchCap({});
    other.speculate({ kMax: 3 }, rows);
    other.events({}, [{ value: 1 }]);
  }, 5000), 0);
});
