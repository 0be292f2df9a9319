/** Rows, and events, of one call. */
export const MAX_ROWS: i32 = 256;
/** Request classes; 0 is the default and the most important one. */
export const CLASSES: i32 = 16;
/** Draft tokens for one row of one step. */
export const MAX_DRAFT: i32 = 15;
/** The bytes that a policy may save. */
export const SAVE_ROOM: i32 = 4096;

/** Durations in nanoseconds, the unit of every time in State and Row. */
export const MILLISECOND: i64 = 1_000_000;
export const SECOND: i64 = 1000 * MILLISECOND;
export const MINUTE: i64 = 60 * SECOND;
export const HOUR: i64 = 60 * MINUTE;

/** The ratio 1.0 in parts per million. */
export const ONE: i64 = 1_000_000;
