// Asks a policy what the host would ask it, under node. It is no scheduler: it shows a policy the states that the test writes.
// What a policy does to a whole day of traffic, the replay tells.
//
//   const policy = await Policy.build("assembly/index.ts", { max_wait: "2s" });
//   const [verdict] = policy.admit({}, [{ phase: Phase.Queued, waitNs: 3n * SECOND }]);
//   assert.equal(verdict.action, Action.Reject);
//
// States, rows and answers are objects with the fields of docs/abi.md in camelCase. Numbers of 64 bits are BigInts; where one is
// given, a number does as well.

import asc from "assemblyscript/asc";
import { fileURLToPath } from "node:url";
import { relative } from "node:path";
import { Hook, Return } from "./layout.gen.js";
import { read, sizeOf, write } from "./memory.js";

export { Action, EventKind, Group, Hook, HostState, Phase, RankFlag, Reason } from "./layout.gen.js";

export const MILLISECOND = 1_000_000n;
export const SECOND = 1000n * MILLISECOND;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;
export const ONE = 1_000_000n;

/** Compiles a source, relative to the working directory, as `npm run build` does, and returns the module's bytes. */
export async function compile(source) {
  const config = relative(process.cwd(), fileURLToPath(new URL("../asconfig.json", import.meta.url)));
  let wasm = null;
  const { error, stderr } = await asc.main([source, "--config", config, "--outFile", "policy.wasm"], {
    writeFile: (_, contents) => { wasm = contents; },
  });
  if (error) throw new Error(`compile ${source}: ${stderr.toString() || error.message}`);
  return wasm;
}

/** One instance of a policy. */
export class Policy {
  /** The lines that it logged. */
  logs;
  /** What it published last, by id. */
  metrics = new Map();

  #exports;
  #descriptor;

  /** Starts a compiled policy, which is not configured then. What it logs goes to logs. */
  constructor(wasm, logs = []) {
    this.logs = logs;
    const module = new WebAssembly.Module(wasm);
    const sluice = {
      log: (_level, at, length) => this.logs.push(new TextDecoder().decode(new Uint8Array(this.memory.buffer, at, length))),
      metric: (id, value) => this.metrics.set(id, value),
    };
    this.#exports = new WebAssembly.Instance(module, { sluice }).exports;
    this.#exports._initialize();
    this.#descriptor = read(this.#view, this.#exports.sluice_abi_v1(), "Descriptor");
  }

  /** Compiles a source and starts and configures it. */
  static async build(source, settings = {}) {
    const policy = new Policy(await compile(source));
    policy.configure(settings);
    return policy;
  }

  get memory() { return this.#exports.memory; }

  /** The names of what the module exports. */
  get exports() { return Object.keys(this.#exports); }

  /** What the policy says about itself. */
  get descriptor() { return this.#descriptor; }

  /** Hands the settings over, and throws what the host would show to whoever pushed the policy when it refuses them. */
  configure(settings = {}) {
    if ((this.#descriptor.hooks & Hook.Configure) === 0) {
      if (Object.keys(settings).length > 0) throw new Error("the policy takes no configuration");
      return;
    }
    if (this.call("sluice_configure", this.#put(JSON.stringify(settings))) !== 0) throw new Error(this.logs.at(-1));
  }

  /** A verdict for each row. */
  admit(state, rows) {
    this.#decided("sluice_admit", this.call("sluice_admit", this.#show(state, rows)));
    return this.#answers("Verdict", rows.length);
  }

  /** A ranking for each row, or null when the policy does not decide. */
  prioritize(state, rows) {
    const decided = this.#decided("sluice_prioritize", this.call("sluice_prioritize", this.#show(state, rows)));
    return decided ? this.#answers("Ranking", rows.length) : null;
  }

  /** The batch plan, or null when the policy does not decide. */
  batchCap(state) {
    this.#show(state, []);
    return this.#decided("sluice_batch_cap", this.call("sluice_batch_cap")) ? this.#answers("BatchPlan", 1)[0] : null;
  }

  /** The speculation plan and its rows' k as `rows`, or null when the policy does not decide. */
  speculate(state, rows) {
    if (!this.#decided("sluice_speculate", this.call("sluice_speculate", this.#show(state, rows)))) return null;
    const at = this.#descriptor.outPtr + sizeOf("SpecPlan");
    return { ...this.#answers("SpecPlan", 1)[0], rows: rows.map((_, i) => read(this.#view, at + 4 * i, "i32")) };
  }

  /** Tells the policy what happened. */
  events(state, events) {
    this.#show(state, []);
    events.forEach((e, i) => write(this.#view, this.#descriptor.eventsPtr + i * sizeOf("Event"), "Event", e));
    this.#decided("sluice_events", this.call("sluice_events", events.length));
  }

  /** The bytes that the policy would hand to its next version. */
  save() {
    const ret = BigInt.asUintN(64, this.call("sluice_save"));
    return new Uint8Array(this.memory.buffer, Number(ret >> 32n), Number(ret & 0xffff_ffffn)).slice();
  }

  /** Hands saved bytes over, and throws the reason when the policy declines them. */
  restore(saved) {
    if (!this.#decided("sluice_restore", this.call("sluice_restore", this.#put(saved)))) throw new Error(this.logs.at(-1));
  }

  /**
   * By how many pages of 64 KiB the memory grows when f is called over and over, which must be none: nothing that a hook
   * allocates is ever freed.
   */
  growth(f, calls = 50_000) {
    f();
    const before = this.memory.buffer.byteLength;
    for (let i = 0; i < calls; i++) f();
    return (this.memory.buffer.byteLength - before) / 65536;
  }

  /** Calls an export with a number. */
  call(name, ...args) {
    const f = this.#exports[name];
    if (!f) throw new Error(`the module does not export ${name}: add it to the export line of the entry file`);
    return f(...args);
  }

  get #view() { return new DataView(this.memory.buffer); }

  #put(text) {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    if (bytes.length > this.#descriptor.configCap) throw new RangeError(`${bytes.length} bytes do not fit`);
    new Uint8Array(this.memory.buffer, this.#descriptor.configPtr).set(bytes);
    return bytes.length;
  }

  #show(state, rows) {
    const d = this.#descriptor;
    this.#copy(d.statePtr, d.stateCap, "State", { size: d.stateCap, ...state });
    rows.forEach((row, i) => this.#copy(d.rowsPtr + i * d.rowStride, d.rowStride, "Row", row));
    return rows.length;
  }

  /** Writes as many bytes of a struct as the policy has room for. */
  #copy(at, room, type, x) {
    const bytes = new Uint8Array(sizeOf(type));
    write(new DataView(bytes.buffer), 0, type, x);
    new Uint8Array(this.memory.buffer).set(bytes.subarray(0, room), at);
  }

  #answers(type, n) {
    return Array.from({ length: n }, (_, i) => read(this.#view, this.#descriptor.outPtr + i * sizeOf(type), type));
  }

  #decided(name, ret) {
    if (ret !== Return.Decided && ret !== Return.Abstain) throw new Error(`${name} returned ${ret}`);
    return ret === Return.Decided;
  }
}
