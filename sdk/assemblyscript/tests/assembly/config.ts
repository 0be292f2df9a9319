// A configuration and its getters, for the vectors. Texts come in, each with its length, through INPUT; what a getter of a text
// returns goes to OUTPUT.

import { Config } from "../../assembly";
import { parseConfig } from "../../assembly/json";
import { line } from "../../assembly/log";
import "../../assembly/panic";

const ROOM: i32 = 64 << 10;
const INPUT = memory.data(ROOM);
const OUTPUT = memory.data(ROOM);

let config = new Config();
let args: string[] = [];

export function input(): usize { return INPUT; }
export function output(): usize { return OUTPUT; }

export function parse(length: i32): void { config = parseConfig(INPUT, length); }
export function clear(): void { args = []; }
export function push(length: i32): void { args.push(String.UTF8.decodeUnsafe(INPUT, length)); }

function put(s: string): i32 { return <i32>String.UTF8.encodeUnsafe(changetype<usize>(s), s.length, OUTPUT); }

export function get_string(): i32 { return put(config.string(args[0], args[1])); }
export function get_one_of(): i32 { return put(config.oneOf(args[0], args.slice(1))); }
export function get_bool(def: i64): i64 { return <i64>config.bool(args[0], def != 0); }
export function get_int(def: i64, least: i64, most: i64): i64 { return config.int(args[0], def, least, most); }
export function get_duration(def: i64, least: i64, most: i64): i64 { return config.duration(args[0], def, least, most); }
export function get_ratio(def: i64, least: i64, most: i64): i64 { return config.ratio(args[0], def, least, most); }
export function get_class_durations(def: i64, least: i64, most: i64): void {
  const all = config.classDurations(args[0], def, least, most);
  for (let i = 0; i < all.length; i++) store<i64>(OUTPUT + <usize>i * 8, all[i]);
}

export function refuse(): void { config.add(args[0]); }

/** Logs all that is wrong. */
export function wrong(): bool {
  const text = config.wrong();
  if (!text) return false;
  line(text).error();
  return true;
}
