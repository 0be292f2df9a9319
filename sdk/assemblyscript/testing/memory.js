// Reads and writes the structs of the ABI in a module's memory. Numbers of 64 bits are BigInts.

import { layouts } from "./layout.gen.js";

const sizes = { u8: 1, i8: 1, u16: 2, u32: 4, i32: 4, u64: 8, i64: 8 };

const readers = {
  u8: (v, at) => v.getUint8(at), i8: (v, at) => v.getInt8(at), u16: (v, at) => v.getUint16(at, true),
  u32: (v, at) => v.getUint32(at, true), i32: (v, at) => v.getInt32(at, true),
  u64: (v, at) => v.getBigUint64(at, true), i64: (v, at) => v.getBigInt64(at, true),
};

const writers = {
  u8: (v, at, x) => v.setUint8(at, Number(x)), i8: (v, at, x) => v.setInt8(at, Number(x)), u16: (v, at, x) => v.setUint16(at, Number(x), true),
  u32: (v, at, x) => v.setUint32(at, Number(x), true), i32: (v, at, x) => v.setInt32(at, Number(x), true),
  u64: (v, at, x) => v.setBigUint64(at, BigInt(x), true), i64: (v, at, x) => v.setBigInt64(at, BigInt(x), true),
};

/** The size of a type in bytes. */
export function sizeOf(type) { return sizes[type] ?? layouts[type].size; }

/** Reads a number, or a struct with all its fields. */
export function read(view, at, type) {
  if (readers[type]) return readers[type](view, at);
  const out = {};
  for (const [name, elem, offset, count] of layouts[type].fields) {
    out[name] = count === 0
      ? read(view, at + offset, elem)
      : Array.from({ length: count }, (_, i) => read(view, at + offset + i * sizeOf(elem), elem));
  }
  return out;
}

/**
 * Writes a number, or a struct: fields that x lacks are 0. An optional field is valid when x has it, unless x has a field valid
 * of its own. An array may be an array, or an object by index.
 */
export function write(view, at, type, x) {
  if (writers[type]) {
    writers[type](view, at, x);
    return;
  }
  const { size, fields } = layouts[type];
  new Uint8Array(view.buffer, at, size).fill(0);
  let valid = 0n;
  for (const [name, elem, offset, count, bit] of fields) {
    if (x[name] === undefined) continue;
    if (bit >= 0) valid |= 1n << BigInt(bit);
    for (const [i, value] of count === 0 ? [[0, x[name]]] : Object.entries(x[name])) {
      if (Number(i) >= Math.max(count, 1)) throw new RangeError(`${type}.${name} has ${count} elements`);
      write(view, at + offset + Number(i) * sizeOf(elem), elem, value);
    }
  }
  const field = fields.find(([name]) => name === "valid");
  if (field && x.valid === undefined) writers.u64(view, at + field[2], valid);
  for (const name of Object.keys(x)) {
    if (!fields.some(([known]) => known === name)) throw new TypeError(`${type} has no field ${name}`);
  }
}
