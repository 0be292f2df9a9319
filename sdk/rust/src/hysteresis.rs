/// A switch that a value moves, and that does not flap when the value does. It goes on at once when the value is greater than
/// `above`, and off when the value has been at most `below` for `hold`. It begins off.
///
/// ```
/// # use sluice_policy::Hysteresis;
/// let mut large = Hysteresis::new(8, 6, 10);
/// assert!(large.update(1, 9));
/// assert!(large.update(2, 5)); // calm from here on
/// assert!(large.update(11, 6));
/// assert!(!large.update(12, 6));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hysteresis {
    above: i64,
    below: i64,
    hold: i64,
    on: bool,
    calm: bool,
    since: i64, // start of the calm
}

impl Hysteresis {
    /// `below` is at most `above`; `hold` is in the unit of the times, steps or ns; 0 = off at once.
    pub const fn new(above: i64, below: i64, hold: i64) -> Hysteresis {
        Hysteresis {
            above,
            below,
            hold,
            on: false,
            calm: false,
            since: 0,
        }
    }

    /// Moves the switch and reports whether it is on. `at` must not decrease; a jump back restarts the hold.
    pub fn update(&mut self, at: i64, value: i64) -> bool {
        if value > self.above {
            self.on = true;
            self.calm = false;
        } else if self.on && value > self.below {
            self.calm = false;
        } else if self.on && (!self.calm || at < self.since) {
            self.calm = true;
            self.since = at;
        }
        if self.calm && at.wrapping_sub(self.since) >= self.hold {
            self.on = false;
            self.calm = false;
        }
        self.on
    }

    /// The switch's position.
    pub const fn is_on(&self) -> bool {
        self.on
    }
}
