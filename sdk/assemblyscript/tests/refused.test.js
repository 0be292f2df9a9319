// What is wrong with a policy is found by the compiler where it can be, and by the host at a push where not.

import assert from "node:assert/strict";
import test from "node:test";
import { compile, Policy } from "../testing/index.js";

for (const [name, says] of [
  ["no-interface", /admit: the class must implement Admitter/],
  ["decides-nothing", /the policy implements none of Admitter, Prioritizer, BatchCapper, Speculator and EventSink/],
  ["wrong-signature", /admit\(_st: State, _rows: Rows\)/],
]) {
  test(name, async () => assert.rejects(compile(`tests/refused/${name}.ts`), says));
}

test("a policy that registers twice does not start, and says why", async () => {
  const logs = [];
  const wasm = await compile("tests/refused/twice.ts");
  assert.throws(() => new Policy(wasm, logs), WebAssembly.RuntimeError);
  assert.match(logs[0], /^panic: register was called twice: a module holds one policy \(/);
});
