use crate::units::within;

const MAX_GAIN: i64 = 1 << 20;
const MAX_ERROR: i64 = 1 << 40;
const MAX_LIMIT: i64 = 1 << 31;

/// A controller: it turns an error, how far a measure is from its target, into a setting. It counts updates and not time, so
/// update it at a fixed interval.
///
/// The rules, which all SDKs share, to the integer:
///
/// - A gain is so many 2^shift-ths of a unit of the setting for a unit of the error. Gains are clamped to 2^20 in size, errors
///   to 2^40, limits to 2^31, and the shift counts as at most 30. `high` below `low` counts as `low`.
/// - integral += ki*error, then clamped to what alone would give `low` or `high`: it does not wind up while the setting stands
///   at a limit.
/// - setting = (kp*error + integral + kd*(error - last error)) / 2^shift, rounded down, then clamped to `low` and `high`. The
///   first error has no last one, and no part of kd.
///
/// ```
/// # use sluice_policy::*;
/// let mut cap = Pid::new(4, 1, 0, 3, 1, 64); // half a place for each ms of error, an eighth for each that stays
/// cap.reset(16);
/// assert_eq!(cap.update(0), 16);
/// assert_eq!(cap.update(-8), 11); // 8 ms too slow
/// assert_eq!(cap.update(-8), 10);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pid {
    kp: i64,
    ki: i64,
    kd: i64,
    shift: u8,
    low: i64,
    high: i64,
    integral: i64, // times 2^shift
    last: i64,
    begun: bool,
}

impl Pid {
    /// The gains are in 2^shift-ths; `low` and `high` are the limits of the setting.
    pub const fn new(kp: i64, ki: i64, kd: i64, shift: u8, low: i64, high: i64) -> Pid {
        let low = within(low, -MAX_LIMIT, MAX_LIMIT);
        Pid {
            kp: within(kp, -MAX_GAIN, MAX_GAIN),
            ki: within(ki, -MAX_GAIN, MAX_GAIN),
            kd: within(kd, -MAX_GAIN, MAX_GAIN),
            shift: if shift > 30 { 30 } else { shift },
            low,
            high: within(high, low, MAX_LIMIT),
            integral: 0,
            last: 0,
            begun: false,
        }
    }

    /// Takes the error and returns the setting.
    pub fn update(&mut self, error: i64) -> i64 {
        let error = error.clamp(-MAX_ERROR, MAX_ERROR);
        if !self.begun {
            self.begun = true;
            self.last = error;
        }
        self.integral = (self.integral + self.ki * error).clamp(self.low << self.shift, self.high << self.shift);
        let sum = self.kp * error + self.integral + self.kd * (error - self.last);
        self.last = error;
        (sum >> self.shift).clamp(self.low, self.high)
    }

    /// Begins anew, so that an error of 0 gives the setting, clamped to the limits.
    pub fn reset(&mut self, setting: i64) {
        self.integral = setting.clamp(self.low, self.high) << self.shift;
        self.last = 0;
        self.begun = false;
    }
}
