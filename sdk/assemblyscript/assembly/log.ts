import { encode } from "./utf8";

@external("sluice", "log") declare function hostLog(level: i32, ptr: usize, length: i32): void;
@external("sluice", "metric") declare function hostMetric(id: i32, value: i64): void;

const ROOM: i32 = 512; // the longest line that the host takes
const BYTES = memory.data(ROOM + 4); // a code point may begin in the last byte

/**
 * A log line in the making. It allocates nothing, unlike a template string; what does not fit 512 bytes is cut off. There is
 * one line at a time: line(...) begins it anew, and debug, info, warn and error write it.
 */
export class Line {
  private length: i32 = 0;

  begin(): Line { this.length = 0; return this; }

  /** Adds a text. */
  text(s: string): Line {
    for (let i = 0; i < s.length; i++) {
      const c = s.codePointAt(i);
      if (c > 0xffff) i++;
      this.point(<u32>c);
    }
    return this;
  }

  /** Adds a number. */
  int(x: i64): Line {
    if (x >= 0) return this.uint(<u64>x);
    this.point(0x2d);
    return this.uint(0 - <u64>x);
  }

  /** Adds a number that has no sign. */
  uint(x: u64): Line {
    let unit: u64 = 1;
    while (x / unit >= 10) unit *= 10;
    for (; unit > 0; unit /= 10) this.point(0x30 + <u32>(x / unit % 10));
    return this;
  }

  /** Adds true or false. */
  bool(x: bool): Line { return this.text(x ? "true" : "false"); }

  /** Write the line to the server's log. The host lets a few lines a second pass and counts the rest. */
  debug(): void { this.write(-1); }
  info(): void { this.write(0); }
  warn(): void { this.write(1); }
  error(): void { this.write(2); }

  private write(level: i32): void { hostLog(level, BYTES, this.length); }

  private point(c: u32): void { this.length = min(this.length + encode(BYTES + <usize>this.length, c), ROOM); }
}

const only = new Line();

/** Begins a log line: line("cap ").int(n).info(). */
export function line(text: string = ""): Line { return only.begin().text(text); }

/** Publishes a number under an id from 0 to 31; `sluice policy ls --json` and the metrics page show the last one. */
export function metric(id: i32, value: i64): void { hostMetric(id, value); }
