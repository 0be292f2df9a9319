use crate::units::MAX_SAMPLE;

/// An exponentially weighted moving average in integers.
///
/// ```
/// # use sluice_policy::Ewma;
/// let mut mean = Ewma::new(3);
/// mean.add(10);
/// mean.add(18);
/// assert_eq!(mean.value(), Some(11)); // an eighth of the way
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ewma {
    shift: u8,
    scaled: i64, // the average times 2^shift
    seeded: bool,
}

impl Ewma {
    /// A new value has the weight 1/2^shift, 0 to 16. Shift 0 keeps the newest value only.
    pub const fn new(shift: u8) -> Ewma {
        Ewma {
            shift: if shift > 16 { 16 } else { shift },
            scaled: 0,
            seeded: false,
        }
    }

    /// Takes a value, clamped to 2^46 in size. The first one is the average.
    pub fn add(&mut self, x: i64) {
        let x = x.clamp(-MAX_SAMPLE, MAX_SAMPLE);
        if !self.seeded {
            self.seeded = true;
            self.scaled = x << self.shift;
            return;
        }
        self.scaled += x - (self.scaled >> self.shift);
    }

    /// The average, rounded down; `None` before the first value.
    pub fn value(&self) -> Option<i64> {
        if !self.seeded {
            return None;
        }
        Some(self.scaled >> self.shift)
    }

    /// Forgets all values.
    pub fn reset(&mut self) {
        *self = Ewma::new(self.shift);
    }
}
