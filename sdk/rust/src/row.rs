use crate::layout_gen::{Phase, RankFlag, Ranking, Row};
use crate::units::CLASSES;

impl Row {
    /// Reports whether the row is shown in that phase.
    pub const fn is(&self, phase: Phase) -> bool {
        self.phase.0 == phase.0
    }

    /// The class as an index into arrays of [`CLASSES`] elements: in range whatever the byte says.
    pub const fn class_index(&self) -> usize {
        self.class as usize & (CLASSES - 1)
    }
}

impl Ranking {
    /// Adds a flag.
    pub fn allow(&mut self, flag: RankFlag) {
        self.flags = self.flags | flag;
    }
}
