//! Drafts where that pays, and not at all where it does not.
//!
//! It decides what policies/spec-off decides, in the same words: that policy's source describes the rules and the settings.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

struct SpecOff {
    k: u32,
    limited: bool, // max_batch was given
    probe_every: u64,
    large: Hysteresis, // the batch is too large for drafts
    drafts: Acceptance,
    probed: u64, // the step of the last probe, or of the last draft before drafts became poor
}

impl Policy for SpecOff {
    const NEW: SpecOff = SpecOff {
        k: 0,
        limited: false,
        probe_every: 1,
        large: Hysteresis::new(0, 0, 0),
        drafts: Acceptance::new(0),
        probed: 0,
    };
    const READS: Group = Group::SPECULATION.and(Group::ROW_SPECULATION);
}

impl Configure for SpecOff {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        let most = match c.int("max_batch", 0, 0..=MAX_ROWS as i64) {
            0 => UNMEASURED,
            given => {
                self.limited = true;
                given
            }
        };
        self.k = c.int("k", MAX_DRAFT, 0..=MAX_DRAFT) as u32;
        let band = c.int("band", 1, 0..=MAX_ROWS as i64 - 1);
        let hold = c.int("hold_steps", 16, 0..=100_000);
        self.large = Hysteresis::new(most, (most - band).max(1), hold);
        self.drafts = Acceptance::new(c.ratio("min_accept", ONE / 10, 0..=ONE));
        self.probe_every = c.int("probe_every", 64, 1..=100_000) as u64;
        Ok(())
    }
}

impl Speculate for SpecOff {
    fn speculate(&mut self, st: &State, rows: &[Row], k: &mut [i32]) -> Option<SpecPlan> {
        let mut plan = SpecPlan::ZERO;
        self.drafts.learn(st.drafted, st.accepted);
        let large = self.large.update(st.step_id as i64, i64::from(st.running));
        if rows.first().and_then(Row::k_goodput).is_some() {
            self.probed = st.step_id;
            if !large || !self.limited {
                plan.k = self.k.min(st.k_max);
                for (row, k) in rows.iter().zip(k) {
                    *k = row.k_goodput().unwrap_or(0).min(plan.k) as i32;
                }
            }
            return Some(plan);
        }
        if large {
            return Some(plan);
        }
        if self.drafts.poor() {
            if st.step_id.wrapping_sub(self.probed) < self.probe_every {
                return Some(plan);
            }
            plan.probe = 1;
        }
        self.probed = st.step_id;
        plan.k = self.k.min(st.k_max);
        for (_, k) in rows.iter().zip(k).filter(|(row, _)| row.speculation_allowed == 0) {
            *k = 0;
        }
        Some(plan)
    }
}

/// `max_batch` where the host knows nothing of its steps and no other was given.
const UNMEASURED: i64 = 4;

/// How many verified drafts make one sample of the average. A single step's share says little.
const EVIDENCE: u64 = 32;

/// Follows the share of accepted drafts by the host's running totals.
struct Acceptance {
    mean: Ewma,           // ppm
    rejected: Hysteresis, // of ONE - mean
    // The totals up to the last sample.
    drafted: u64,
    accepted: u64,
    begun: bool,
}

impl Acceptance {
    const fn new(least: i64) -> Acceptance {
        let enough = if least + least / 4 > ONE {
            ONE
        } else {
            least + least / 4
        };
        Acceptance {
            mean: Ewma::new(2),
            rejected: Hysteresis::new(ONE - least, ONE - enough, 0),
            drafted: 0,
            accepted: 0,
            begun: false,
        }
    }

    /// Takes the totals. Totals that went back belong to another run of the host: counting starts anew.
    fn learn(&mut self, drafted: u64, accepted: u64) {
        let anew = !self.begun || drafted < self.drafted || accepted < self.accepted;
        if !anew && drafted - self.drafted < EVIDENCE {
            return;
        }
        if !anew {
            self.mean.add(ppm(accepted - self.accepted, drafted - self.drafted));
            self.rejected.update(0, ONE - self.mean.value().unwrap_or(0));
        }
        self.begun = true;
        self.drafted = drafted;
        self.accepted = accepted;
    }

    /// Reports whether drafts are not worth verifying.
    fn poor(&self) -> bool {
        self.rejected.is_on()
    }
}

/// So many of `all` in ppm, at most [`ONE`], without overflow for totals of any size.
fn ppm(mut some: u64, mut all: u64) -> i64 {
    if some >= all {
        return ONE;
    }
    while all >= 1 << 40 {
        some >>= 1;
        all >>= 1;
    }
    (some * ONE as u64 / all) as i64
}

export!(SpecOff);
