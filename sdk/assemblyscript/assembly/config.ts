import { Kind, parse, format } from "./parse";
import { CLASSES } from "./units";

class Entry {
  used: bool = false;
  constructor(readonly key: string, readonly value: string) {}
}

/**
 * A policy's configuration: values by key, all of them strings until a getter reads them.
 *
 * Every getter names a key and its default, and remembers both: what no getter named is an unknown key. A value that cannot be
 * read gives the default and is remembered as an error, so configure needs no error handling of its own.
 */
export class Config {
  private entries: Entry[] = [];
  private known: string[] = [];
  private errs: string[] = [];

  /** For the SDK: the configuration could not be parsed. */
  broken: bool = false;

  /** For the SDK: takes an entry. */
  set(key: string, value: string): void { this.entries.push(new Entry(key, value)); }

  /** For the SDK: the number of entries. */
  get size(): i32 { return this.entries.length; }

  /** For the SDK: whether there is an entry of that key. */
  has(key: string): bool { return this.find(key) != null; }

  /** For the SDK: adds an error; null is none. */
  add(err: string | null): void { if (err) this.errs.push(err); }

  /** A key's text, or def when it is not set. */
  string(key: string, def: string): string {
    const v = this.lookup(key);
    return v === null ? def : v;
  }

  /** A key's text, which must be one of allowed; the first of them is the default. */
  oneOf(key: string, allowed: string[]): string {
    const v = this.lookup(key);
    if (v === null) return allowed[0];
    if (allowed.includes(v)) return v;
    this.bad(key, v, "must be one of " + allowed.join(", "));
    return allowed[0];
  }

  /** true, on, yes or 1, or false, off, no or 0. */
  bool(key: string, def: bool): bool {
    const v = this.lookup(key);
    if (v === null) return def;
    if (v == "true" || v == "on" || v == "yes" || v == "1") return true;
    if (v == "false" || v == "off" || v == "no" || v == "0") return false;
    this.bad(key, v, "must be true or false");
    return def;
  }

  /** A whole number from least to most: "8". */
  int(key: string, def: i64, least: i64, most: i64): i64 {
    return this.get(key, def, Kind.Int, least, most);
  }

  /** A time in ns from least to most, written with a unit: "2s", "500ms", "1.5s", "1m30s". A bare 0 is allowed. */
  duration(key: string, def: i64, least: i64, most: i64): i64 {
    return this.get(key, def, Kind.Duration, least, most);
  }

  /** A ratio in parts per million from least to most, written as a decimal or in per cent: "0.9", "90%". */
  ratio(key: string, def: i64, least: i64, most: i64): i64 {
    return this.get(key, def, Kind.Ratio, least, most);
  }

  /** A duration for each class: KEY for all of them, and KEY.0 to KEY.15 for single ones. */
  classDurations(key: string, def: i64, least: i64, most: i64): StaticArray<i64> {
    const base = this.get(key, def, Kind.Duration, least, most);
    this.name(key + ".<class>");
    const all = new StaticArray<i64>(CLASSES);
    for (let i = 0; i < CLASSES; i++) all[i] = this.read(key + "." + i.toString(), base, Kind.Duration, least, most);
    return all;
  }

  /** Everything that is wrong, on one line; null for nothing. */
  wrong(): string | null {
    const all = this.errs.slice(0);
    if (!this.broken) {
      for (let i = 0; i < this.entries.length; i++) {
        if (!this.entries[i].used) all.push(this.unknown(this.entries[i].key));
      }
    }
    return all.length == 0 ? null : all.join("; ");
  }

  private unknown(key: string): string {
    const text = "unknown key " + quoted(key);
    if (this.known.length == 0) return text + ": the policy has no settings";
    return text + ": known are " + this.known.join(", ");
  }

  private get(key: string, def: i64, kind: Kind, least: i64, most: i64): i64 {
    this.name(key);
    return this.read(key, def, kind, least, most);
  }

  private read(key: string, def: i64, kind: Kind, least: i64, most: i64): i64 {
    const e = this.find(key);
    if (!e) return def;
    e.used = true;
    const p = parse(kind, e.value);
    if (!p.ok) {
      this.bad(key, e.value, p.why);
    } else if (p.value < least || p.value > most) {
      this.bad(key, e.value, "must be from " + format(kind, least) + " to " + format(kind, most));
    } else {
      return p.value;
    }
    return def;
  }

  /** The text of a key, which becomes a known one. */
  private lookup(key: string): string | null {
    this.name(key);
    const e = this.find(key);
    if (!e) return null;
    e.used = true;
    return e.value;
  }

  private find(key: string): Entry | null {
    for (let i = 0; i < this.entries.length; i++) {
      if (this.entries[i].key == key) return this.entries[i];
    }
    return null;
  }

  /** Puts a key into the list that an unknown one is answered with. */
  private name(key: string): void { if (!this.known.includes(key)) this.known.push(key); }

  private bad(key: string, value: string, why: string): void { this.errs.push(key + "=" + quoted(value) + ": " + why); }
}

function quoted(s: string): string {
  return '"' + s.replaceAll("\\", "\\\\").replaceAll('"', '\\"') + '"';
}
