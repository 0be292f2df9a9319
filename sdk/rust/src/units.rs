/// Rows, and events, of one call.
pub const MAX_ROWS: usize = 256;
/// Request classes; 0 is the default and the most important one.
pub const CLASSES: usize = 16;
/// Draft tokens for one row of one step.
pub const MAX_DRAFT: i64 = 15;
/// Bytes of state that [`SaveState::save`](crate::SaveState::save) has room for.
pub const SAVE_ROOM: usize = 4096;

/// A millisecond in nanoseconds, the unit of every time in [`State`](crate::State) and [`Row`](crate::Row).
pub const MILLISECOND: i64 = 1_000_000;
/// A second in nanoseconds.
pub const SECOND: i64 = 1000 * MILLISECOND;
/// A minute in nanoseconds.
pub const MINUTE: i64 = 60 * SECOND;
/// An hour in nanoseconds.
pub const HOUR: i64 = 60 * MINUTE;

/// The ratio 1.0 in parts per million.
pub const ONE: i64 = 1_000_000;

/// The size to which the helpers clamp a value.
pub(crate) const MAX_SAMPLE: i64 = 1 << 46;
pub(crate) const MAX_TIME: i64 = 1 << 62;

pub(crate) fn clamp_time(ns: i64) -> i64 {
    ns.clamp(0, MAX_TIME)
}

/// `clamp` for constants.
pub(crate) const fn within(x: i64, least: i64, most: i64) -> i64 {
    if x < least {
        return least;
    }
    if x > most {
        return most;
    }
    x
}
