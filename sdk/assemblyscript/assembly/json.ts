import { Config } from "./config";
import { encode, isUtf8 } from "./utf8";

const MAX_KEYS = 256; // bounds a configuration
const NONE: u32 = 0xffff_ffff;

/** Reads what the host wrote at an address: a JSON object whose values are strings. The bytes are not the same afterwards. */
export function parseConfig(at: usize, length: i32): Config {
  const p = new Parser(at, length);
  const why = p.document();
  if (why === null) return p.config;
  const c = new Config();
  c.broken = true;
  c.add("the configuration is not a JSON object of strings: " + why + " at byte " + p.pos.toString());
  return c;
}

/** Reads the one form of JSON that the host writes: a flat object whose values are strings. */
class Parser {
  config: Config = new Config();
  pos: i32 = 0;
  private text: string = ""; // the string that was read last

  constructor(private readonly start: usize, private readonly length: i32) {}

  /** Everything; what is wrong with it, or null. */
  document(): string | null {
    const why = this.object();
    if (why !== null) return why;
    this.skip();
    return this.pos < this.length ? "something follows the object" : null;
  }

  private object(): string | null {
    if (!this.take(0x7b)) return "no { found";
    if (this.take(0x7d)) return null;
    do {
      const why = this.member();
      if (why !== null) return why;
      if (this.take(0x7d)) return null;
    } while (this.take(0x2c));
    return "no , or } found";
  }

  private member(): string | null {
    let why = this.string();
    if (why !== null) return why;
    const key = this.text;
    if (!this.take(0x3a)) return "no : found";
    why = this.string();
    if (why !== null) return why;
    if (this.config.has(key)) return "a key stands there twice";
    if (this.config.size == MAX_KEYS) return "too many keys";
    this.config.set(key, this.text);
    return null;
  }

  private byte(): u32 { return <u32>load<u8>(this.start + <usize>this.pos); }

  /** Passes white space. */
  private skip(): void {
    while (this.pos < this.length) {
      const c = this.byte();
      if (c != 0x20 && c != 0x09 && c != 0x0a && c != 0x0d) return;
      this.pos++;
    }
  }

  private take(c: u32): bool {
    this.skip();
    if (this.pos >= this.length || this.byte() != c) return false;
    this.pos++;
    return true;
  }

  /** Reads a string. Without its escapes it is not longer, and takes the place of what it is read from. */
  private string(): string | null {
    if (!this.take(0x22)) return "no string found";
    const from = this.start + <usize>this.pos;
    let to = from;
    while (this.pos < this.length) {
      const c = this.byte();
      if (c < 0x20) return "a control character stands";
      this.pos++;
      if (c == 0x22) {
        if (!isUtf8(from, to)) return "a string that is not UTF-8 ends";
        this.text = String.UTF8.decodeUnsafe(from, to - from);
        return null;
      }
      if (c == 0x5c) {
        const r = this.escape();
        if (r == NONE) return "a wrong escape ends";
        to += <usize>encode(to, r);
      } else {
        store<u8>(to++, <u8>c);
      }
    }
    return "a string does not end";
  }

  /** Reads what follows a backslash. */
  private escape(): u32 {
    if (this.pos == this.length) return NONE;
    const c = this.byte();
    this.pos++;
    switch (c) {
      case 0x22: case 0x5c: case 0x2f: return c;
      case 0x62: return 0x08;
      case 0x66: return 0x0c;
      case 0x6e: return 0x0a;
      case 0x72: return 0x0d;
      case 0x74: return 0x09;
      case 0x75: return this.unicode();
      default: return NONE;
    }
  }

  /** Reads four hexadecimal digits, and a second escape when they are the first half of a surrogate pair. */
  private unicode(): u32 {
    const high = this.hex4();
    if (high == NONE || high < 0xd800 || high > 0xdfff) return high;
    if (high > 0xdbff || this.pos + 2 > this.length || this.byte() != 0x5c || load<u8>(this.start + <usize>this.pos, 1) != 0x75) return NONE;
    this.pos += 2;
    const low = this.hex4();
    if (low == NONE || low < 0xdc00 || low > 0xdfff) return NONE;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }

  private hex4(): u32 {
    if (this.pos + 4 > this.length) return NONE;
    let r: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const d = hex(<u32>load<u8>(this.start + <usize>(this.pos + i)));
      if (d == NONE) return NONE;
      r = r << 4 | d;
    }
    this.pos += 4;
    return r;
  }
}

function hex(c: u32): u32 {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  if (c >= 0x61 && c <= 0x66) return c - 0x61 + 10;
  if (c >= 0x41 && c <= 0x46) return c - 0x41 + 10;
  return NONE;
}
