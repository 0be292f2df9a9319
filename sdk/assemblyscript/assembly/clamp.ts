/** Keeps x from low to high. */
@inline export function clamp(x: i64, low: i64, high: i64): i64 { return min<i64>(max<i64>(x, low), high); }

/** The largest value that an average or a window takes, in size; as a time, 19 hours. */
export const MAX_SAMPLE: i64 = 1 << 46;

/** The latest time, in ns. */
export const MAX_TIME: i64 = 1 << 62;
