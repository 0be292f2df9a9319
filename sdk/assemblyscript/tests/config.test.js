// Configurations are read, and refused, as in every other SDK: to the byte.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { compile } from "../testing/index.js";

const module = new WebAssembly.Module(await compile("tests/assembly/config.ts"));

/** An instance of the module, with texts as byte strings. */
class Reader {
  constructor() {
    const log = (_level, at, length) => { this.said = this.#bytes(at, length).toString("latin1"); };
    this.m = new WebAssembly.Instance(module, { sluice: { log, metric() {} } }).exports;
    this.m._initialize();
  }

  parse(json) { this.m.parse(this.#input(json)); }

  /** What a getter of that kind returns, in the words of the vectors. */
  get(kind, fields) {
    const texts = kind === "string" || kind === "one_of" ? fields : fields.slice(0, 1);
    this.#push(texts);
    const value = this.m["get_" + kind](...fields.slice(texts.length).map(BigInt));
    if (texts === fields) return [this.#bytes(this.m.output(), value).toString("latin1")];
    if (kind !== "class_durations") return [String(value)];
    return Array.from(new BigInt64Array(this.m.memory.buffer, this.m.output(), 16), String);
  }

  refuse(text) {
    this.#push([text]);
    this.m.refuse();
  }

  /** The first 512 bytes of what is wrong; "" for nothing. */
  wrong() { return this.m.wrong() ? this.said : ""; }

  #push(texts) {
    this.m.clear();
    for (const text of texts) this.m.push(this.#input(text));
  }

  #input(text) {
    const bytes = Buffer.from(text, "latin1");
    new Uint8Array(this.m.memory.buffer).set(bytes, this.m.input());
    return bytes.length;
  }

  #bytes(at, length) { return Buffer.from(this.m.memory.buffer, at, length); }
}

function unescape(text) { return text.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))); }

/** A word and the rest of the line. */
function split(line) {
  const i = line.indexOf(" ");
  return i < 0 ? [line, ""] : [line.slice(0, i), line.slice(i + 1)];
}

test("vectors", () => {
  const lines = readFileSync("../vectors/config.txt", "latin1").split("\n").filter((l) => l !== "" && !l.startsWith("#"));
  let reader = null;
  let json = "";
  let cases = 0;
  const does = {
    json(rest) {
      json = rest;
      reader = new Reader();
      reader.parse(unescape(rest));
    },
    get(rest) {
      const fields = rest.split(" ");
      const colon = fields.lastIndexOf(":");
      const got = reader.get(fields[0], fields.slice(1, colon).map(unescape));
      assert.deepEqual(got, fields.slice(colon + 1).map(unescape), `${json}: ${rest}`);
    },
    refuse(rest) { reader.refuse(unescape(rest)); },
    err(rest) {
      assert.equal(reader.wrong(), unescape(rest), json);
      cases++;
    },
  };
  for (const line of lines) {
    const [word, rest] = split(line);
    does[word](rest);
  }
  assert.ok(cases > 300, `${cases} cases`);
});

test("every control character must be escaped, and nothing else", () => {
  for (let c = 0; c < 0x80; c++) {
    if (c === 0x22 || c === 0x5c) continue;
    const reader = new Reader();
    reader.parse(`{"a":"${String.fromCharCode(c)}"}`);
    assert.deepEqual(reader.get("string", ["a", "none"]), [c < 0x20 ? "none" : String.fromCharCode(c)], `character ${c}`);
  }
});
