// What the examples are for, seen from outside. That they decide what the policies that ship do, for every input, is what
// go test ./sdk/assemblyscript checks.

import assert from "node:assert/strict";
import test from "node:test";
import { Action, compile, Group, HostState, Phase, Policy, RankFlag, Reason, SECOND } from "../testing/index.js";

const names = ["queue-age", "class-priority", "tpot-cap", "spec-off"];
const modules = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await compile(`examples/${name}.ts`)])));

function example(name, settings) {
  const policy = new Policy(modules[name]);
  policy.configure(settings);
  return policy;
}

test("queue-age sheds what waits too long, batch before interactive", () => {
  const policy = example("queue-age", { max_age: "4s", status: "429" });
  const state = { nowNs: 100n * SECOND, classes: { 0: { waiting: 1, oldestWaitNs: 3n * SECOND } } };
  const shed = (at, wait) => policy.admit(state, [{ phase: Phase.Queued, class: at, waitNs: wait }])[0];
  assert.equal(shed(0, 4n * SECOND).action, Action.Abstain);
  assert.deepEqual([shed(0, 5n * SECOND).status, shed(0, 5n * SECOND).reason], [429, Reason.QueueAge]);
  assert.equal(shed(1, 3n * SECOND).reason, Reason.Priority);
  assert.equal(policy.descriptor.reads, Group.Speed | Group.Classes | Group.Basic);
});

test("queue-age does not count the time in which the host was paused", () => {
  const policy = example("queue-age", { max_age: "4s" });
  const rows = [{ phase: Phase.Queued, waitNs: 60n * SECOND }];
  const act = (now, hostState) => policy.admit({ nowNs: BigInt(now) * SECOND, hostState }, rows)[0].action;
  assert.equal(act(100, HostState.Paused), Action.Abstain);
  assert.equal(act(160, HostState.Running), Action.Abstain);
  assert.equal(act(165, HostState.Running), Action.Reject);
});

test("class-priority lets the more important class go first, and take a place", () => {
  const policy = example("class-priority");
  const [running, batch, chat] = policy.prioritize({}, [
    { phase: Phase.Running, class: 2, ageNs: SECOND }, { phase: Phase.Queued, class: 1, ageNs: 2n * SECOND }, { phase: Phase.Queued, class: 0, ageNs: SECOND },
  ]);
  assert.ok(chat.score < batch.score && chat.score < running.score);
  assert.equal(chat.flags, RankFlag.MayPreempt);
});

test("tpot-cap lowers the cap when tokens slow down, warns once, and hands it on", () => {
  const policy = example("tpot-cap", { tpot: "40ms", hold_steps: "1", settle_steps: "0" });
  const state = { maxNumSeqs: 8, running: 8, itlP50Ns: 80_000_000n };
  let cap = 0;
  for (let step = 1; step < 12; step++) {
    ({ maxSeqs: cap } = policy.batchCap({ ...state, stepId: step, running: cap || 8 }));
  }
  assert.equal(cap, 1);
  assert.deepEqual(policy.logs, ["tpot=40000us is not held even at max_seqs=1: 80000us"]);
  const next = example("tpot-cap", { tpot: "40ms" });
  next.restore(policy.save());
  assert.equal(next.batchCap({ ...state, stepId: 12 }).maxSeqs, 1);
  assert.throws(() => next.restore(Uint8Array.of(2)), { message: "the saved state is not one of tpot-cap's version 1" });
  assert.throws(() => next.configure({ floor: "5", ceiling: "4" }), { message: "ceiling must not be below floor" });
});

test("spec-off drafts for a small batch and not for a large one", () => {
  const policy = example("spec-off", { max_batch: "4" });
  const draft = (stepId, running) => policy.speculate({ stepId, running, kMax: 5 }, [{ speculationAllowed: 1 }, {}]);
  assert.deepEqual([draft(1, 4).k, draft(1, 4).rows], [5, [-1, 0]]);
  assert.equal(draft(2, 5).k, 0);
});

test("the examples are small, and take what they need of memory at once", () => {
  for (const [name, wasm] of Object.entries(modules)) {
    assert.ok(wasm.length < 20_000, `${name} has ${wasm.length} bytes`);
    assert.equal(new Policy(wasm).memory.buffer.byteLength / 65536, 2);
  }
});
