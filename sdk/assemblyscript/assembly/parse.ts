// The text forms of configuration values: integers from end to end.

import { HOUR, MILLISECOND, MINUTE, ONE, SECOND } from "./units";

/** How a number is written. */
export enum Kind { Int, Duration, Ratio }

/** What a text means, or why it means nothing. */
export class Parsed {
  constructor(readonly ok: bool, readonly value: i64, readonly why: string = "") {}
}

export function parse(kind: Kind, s: string): Parsed {
  switch (kind) {
    case Kind.Duration: return parseDuration(s);
    case Kind.Ratio: return parseRatio(s);
    default: return parseInt64(s);
  }
}

export function format(kind: Kind, x: i64): string {
  switch (kind) {
    case Kind.Duration: return formatDuration(x);
    case Kind.Ratio: return formatRatio(x);
    default: return x.toString();
  }
}

const UNIT_NAMES: string[] = ["h", "m", "s", "ms", "us", "ns"];
const UNITS: i64[] = [HOUR, MINUTE, SECOND, MILLISECOND, 1000, 1];

function taken(x: i64): Parsed { return new Parsed(true, x); }
function refused(why: string): Parsed { return new Parsed(false, 0, why); }

function parseInt64(s: string): Parsed {
  const negative = s.startsWith("-");
  const p = whole(negative ? s.substring(1) : s);
  if (!p.ok || p.rest != "") return refused("not a whole number");
  return taken(negative ? -p.value : p.value);
}

function parseDuration(s: string): Parsed {
  const why = "not a duration: write it like 2s, 500ms or 1m30s";
  if (s == "0") return taken(0);
  if (s == "") return refused(why);
  let sum: i64 = 0;
  let i = 0;
  while (i < s.length) {
    const from = i;
    while (i < s.length && isDecimal(s.charCodeAt(i))) i++;
    const number = s.substring(from, i);
    const at = i;
    while (i < s.length && isLetter(s.charCodeAt(i))) i++;
    const unit = UNIT_NAMES.indexOf(s.substring(at, i));
    if (unit < 0) return refused(why);
    const p = scaled(number, UNITS[unit]);
    if (!p.ok || sum > i64.MAX_VALUE - p.value) return refused(why);
    sum += p.value;
  }
  return taken(sum);
}

function parseRatio(s: string): Parsed {
  const percent = s.endsWith("%");
  const p = scaled(percent ? s.substring(0, s.length - 1) : s, percent ? ONE / 100 : ONE);
  return p.ok ? p : refused("not a ratio: write it like 0.9 or 90%");
}

/** Reads a decimal such as 1.25 and returns it times unit, cut off below 1. */
function scaled(s: string, unit: i64): Parsed {
  const p = whole(s);
  if (!p.ok || p.value > i64.MAX_VALUE / unit) return refused("");
  let x = p.value * unit;
  if (p.rest == "") return taken(x);
  if (!p.rest.startsWith(".") || p.rest.length == 1) return refused("");
  // Each digit has a tenth of the unit's remaining part, so that nothing overflows. What divides no further is dropped.
  let part = unit;
  for (let i = 1; i < p.rest.length; i++) {
    const c = p.rest.charCodeAt(i);
    if (!isDigit(c)) return refused("");
    part /= 10;
    x += <i64>(c - 0x30) * part;
  }
  return x >= 0 ? taken(x) : refused("");
}

class Whole {
  constructor(readonly ok: bool, readonly value: i64, readonly rest: string) {}
}

/** Reads the digits at the beginning. */
function whole(s: string): Whole {
  let x: i64 = 0;
  let i = 0;
  for (; i < s.length && isDigit(s.charCodeAt(i)); i++) {
    const d = <i64>(s.charCodeAt(i) - 0x30);
    if (x > (i64.MAX_VALUE - d) / 10) return new Whole(false, 0, s);
    x = x * 10 + d;
  }
  return new Whole(i > 0, x, s.substring(i));
}

function isDigit(c: i32): bool { return c >= 0x30 && c <= 0x39; }
function isDecimal(c: i32): bool { return c == 0x2e || isDigit(c); }
function isLetter(c: i32): bool { return c >= 0x61 && c <= 0x7a; }

/** Uses the largest unit that leaves a whole number. */
function formatDuration(ns: i64): string {
  for (let u = 0; ns != 0 && u < UNITS.length; u++) {
    if (ns % UNITS[u] == 0) return (ns / UNITS[u]).toString() + UNIT_NAMES[u];
  }
  return ns.toString();
}

function formatRatio(ppm: i64): string {
  const f = ppm % ONE;
  let text = (ppm / ONE).toString();
  if (f <= 0) return text;
  let digits = (ONE + f).toString().substring(1);
  while (digits.endsWith("0")) digits = digits.substring(0, digits.length - 1);
  return text + "." + digits;
}
