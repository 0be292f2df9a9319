import { CONFIG, SAVED } from "./memory";
import { SAVE_ROOM } from "./units";

/** Where a policy writes what it wants to keep; little-endian. */
export class Writer {
  /** Bytes written so far. */
  length: i32 = 0;

  u8(x: u8): Writer { return this.put<u8>(x); }
  u16(x: u16): Writer { return this.put<u16>(x); }
  u32(x: u32): Writer { return this.put<u32>(x); }
  u64(x: u64): Writer { return this.put<u64>(x); }
  i32(x: i32): Writer { return this.put<i32>(x); }
  i64(x: i64): Writer { return this.put<i64>(x); }

  private put<T>(x: T): Writer {
    const end = this.length + <i32>sizeof<T>();
    if (end > SAVE_ROOM) throw new RangeError("more than 4096 bytes to save");
    store<T>(SAVED + <usize>this.length, x);
    this.length = end;
    return this;
  }
}

/** What was saved. A read beyond the end gives 0: compare length with what there should be first. */
export class Reader {
  /** Bytes in all. */
  length: i32 = 0;
  private at: i32 = 0;

  /** For the SDK: reads the first n bytes that the host wrote. */
  begin(n: i32): Reader {
    this.length = n;
    this.at = 0;
    return this;
  }

  /** Bytes that were not read yet. */
  get left(): i32 { return this.length - this.at; }

  u8(): u8 { return this.take<u8>(); }
  u16(): u16 { return this.take<u16>(); }
  u32(): u32 { return this.take<u32>(); }
  u64(): u64 { return this.take<u64>(); }
  i32(): i32 { return this.take<i32>(); }
  i64(): i64 { return this.take<i64>(); }

  private take<T>(): T {
    const at = this.at;
    this.at = min(at + <i32>sizeof<T>(), this.length);
    if (this.at - at < <i32>sizeof<T>()) return <T>0;
    return load<T>(CONFIG + <usize>at);
  }
}
