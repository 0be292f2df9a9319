// The helpers answer what those of every other SDK do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { compile } from "../testing/index.js";

// Of each helper: how many parameters it has, and what a step takes and gives.
const kinds = {
  ewma: { params: 1, input: 1, output: 1, step: (m, [x]) => [m.ewma_add(x)] },
  hysteresis: { params: 3, input: 2, output: 1, step: (m, [at, value]) => [m.hysteresis_update(at, value)] },
  window: {
    params: 2, input: 3, output: 2,
    step(m, [now, op, x]) { m.window_step(now, op, x); return [m.window_sum(now), m.window_rate(now)]; },
  },
  token_bucket: { params: 2, input: 3, output: 3, step: (m, [now, op, n]) => [m.bucket_step(now, op, n), m.bucket_wait(), m.bucket_level(now)] },
  pid: { params: 6, input: 2, output: 1, step: (m, [op, x]) => [m.pid_step(op, x)] },
  tenant_table: {
    params: 1, input: 3, output: 7,
    step(m, [op, id, x]) {
      m.table_step(op, id, x);
      return [m.table_found(id), m.table_served(id), m.table_inflight(id), m.table_weight(id), m.table_place(id), m.table_len(), m.table_weights()];
    },
  },
  fair_share: { params: 0, input: 3, output: 1, step: (m, [total, weight, weights]) => [m.fair_share(total, weight, weights)] },
};

/** Instances are cheap, and a vector of a table takes memory that is never freed: one for each line. */
function instance(module) {
  const m = new WebAssembly.Instance(module, { sluice: { log() {}, metric() {} } }).exports;
  m._initialize();
  return m;
}

const module = new WebAssembly.Module(await compile("tests/assembly/helpers.ts"));
const lines = readFileSync("../vectors/helpers.txt", "utf8").split("\n").filter((l) => l !== "" && !l.startsWith("#"));

for (const [name, kind] of Object.entries(kinds)) {
  test(name, () => {
    const own = lines.filter((l) => l.startsWith(name + " "));
    assert.ok(own.length > 0, "there are no vectors of this helper");
    for (const line of own) follow(instance(module), name, kind, line);
  });
}

test("every vector has a helper", () => {
  assert.deepEqual([...new Set(lines.map((l) => l.split(" ")[0]))].sort(), Object.keys(kinds).sort());
});

function follow(m, name, kind, line) {
  const numbers = line.split(" ").slice(1).map(BigInt);
  const params = numbers.splice(0, kind.params);
  m["new_" + name]?.(...params);
  const steps = Number(numbers.shift());
  assert.equal(numbers.length, steps * (kind.input + kind.output), "a vector is cut off");
  for (let i = 0; i < steps; i++) {
    const input = numbers.splice(0, kind.input);
    const want = numbers.splice(0, kind.output);
    assert.deepEqual(kind.step(m, input), want, `${name} ${params}: step ${i}, ${input}`);
  }
}
