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
#[derive(Clone, Copy)]
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
    pub fn new(kp: i64, ki: i64, kd: i64, shift: u8, low: i64, high: i64) -> Pid {
        let gain = |k: i64| k.clamp(-(1 << 20), 1 << 20);
        let limit = |x: i64| x.clamp(-(1 << 31), 1 << 31);
        Pid {
            kp: gain(kp),
            ki: gain(ki),
            kd: gain(kd),
            shift: shift.min(30),
            low: limit(low),
            high: limit(high).max(limit(low)),
            integral: 0,
            last: 0,
            begun: false,
        }
    }

    /// Takes the error and returns the setting.
    pub fn update(&mut self, error: i64) -> i64 {
        let error = error.clamp(-(1 << 40), 1 << 40);
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
