// Text crosses the boundary as UTF-8; strings are UTF-16 inside.

/** Writes a code point at an address that has room for 4 bytes, and returns how many it took. Half a surrogate pair becomes U+FFFD. */
export function encode(at: usize, c: u32): i32 {
  if (c < 0x80) {
    store<u8>(at, <u8>c);
    return 1;
  }
  if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd;
  const more: u32 = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  const mark: u32 = 0xf0 << (3 - more);
  for (let i = more; i > 0; i--) {
    store<u8>(at + <usize>i, <u8>(0x80 | (c & 0x3f)));
    c >>= 6;
  }
  store<u8>(at, <u8>(mark | c));
  return <i32>more + 1;
}

/** Whether all bytes from at to end are UTF-8: the shortest form, and no surrogates. */
export function isUtf8(at: usize, end: usize): bool {
  while (at < end) {
    const n = size(at, end);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

/** How many bytes the code point at an address takes; 0 when it is none. */
function size(at: usize, end: usize): usize {
  const first = <u32>load<u8>(at);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const n: usize = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (end - at < n) return 0;
  let c = first & (0x7f >> <u32>n);
  for (let i: usize = 1; i < n; i++) {
    const next = <u32>load<u8>(at + i);
    if (next >> 6 != 2) return 0;
    c = c << 6 | (next & 0x3f);
  }
  if (n == 3) return c >= 0x800 && (c < 0xd800 || c > 0xdfff) ? n : 0;
  return n == 2 || c >= 0x10000 && c <= 0x10ffff ? n : 0;
}
