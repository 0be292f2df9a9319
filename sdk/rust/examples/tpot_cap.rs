//! Makes the batch as large as the time per output token allows, and no larger.
//!
//! It decides what policies/tpot-cap decides, in the same words, and reads that policy's state: its source describes the rules
//! and the settings.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

struct TpotCap {
    // Above target, in ns, the cap falls; below resume it rises.
    target: i64,
    resume: i64,
    floor: u32,
    ceiling: u32,
    increase: u32,
    decrease: i64, // ppm
    hold: u64,
    settle: u64,

    cap: u32,     // 0 until the first step
    judged: u64,  // the step of the last decision
    settled: u64, // the step from which on the measure is of the batch as it is
    warned: bool,
}

impl Policy for TpotCap {
    const NEW: TpotCap = TpotCap {
        target: 0,
        resume: 0,
        floor: 1,
        ceiling: 0,
        increase: 0,
        decrease: 0,
        hold: 1,
        settle: 0,
        cap: 0,
        judged: 0,
        settled: 0,
        warned: false,
    };
    const READS: Group = Group::SPEED;
}

impl Configure for TpotCap {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        self.target = c.duration("tpot", 50 * MILLISECOND, MILLISECOND / 10..=MINUTE);
        self.floor = c.int("floor", 1, 1..=4096) as u32;
        self.ceiling = c.int("ceiling", 0, 0..=4096) as u32;
        self.resume = self.target - self.target * c.ratio("band", ONE / 10, 0..=ONE * 9 / 10) / ONE;
        self.increase = c.int("increase", 1, 1..=64) as u32;
        self.decrease = c.ratio("decrease", ONE * 3 / 4, ONE / 10..=ONE * 99 / 100);
        self.hold = c.int("hold_steps", 16, 1..=1024) as u64;
        self.settle = c.int("settle_steps", 64, 0..=100_000) as u64;
        if self.ceiling > 0 && self.ceiling < self.floor {
            return Err("ceiling must not be below floor");
        }
        Ok(())
    }
}

impl BatchCap for TpotCap {
    fn batch_cap(&mut self, st: &State) -> Option<BatchPlan> {
        let (low, high) = self.bounds(st.max_num_seqs);
        if self.cap == 0 {
            self.cap = high;
            self.judged = st.step_id;
        }
        self.cap = self.cap.max(low).min(high);
        if st.step_id < self.judged {
            // restored from another run
            self.judged = st.step_id;
            self.settled = st.step_id;
        }
        match measured(st) {
            None => {
                self.cap = high;
                self.judged = st.step_id;
                self.settled = st.step_id;
            }
            Some(ns) if st.running > 0 && st.step_id - self.judged >= self.hold => {
                self.judged = st.step_id;
                self.adjust(ns, st.running, low, high);
            }
            Some(_) => {}
        }
        Some(BatchPlan {
            max_seqs: self.cap,
            hold_steps: self.hold as u32 - 1,
            ..BatchPlan::ZERO
        })
    }
}

/// The time of a step for the batch alone, as near as it is known, or that of a token where that is less.
fn measured(st: &State) -> Option<i64> {
    match (st.decode_step_p50_ns().or_else(|| st.min_step_ns()), st.itl_p50_ns()) {
        (Some(batch), Some(token)) => Some(batch.min(token)),
        (batch, token) => batch.or(token),
    }
}

impl TpotCap {
    /// The floor and the ceiling in force under the host's own limit.
    fn bounds(&self, hard: u32) -> (u32, u32) {
        let mut high = hard.max(1);
        if self.ceiling > 0 {
            high = high.min(self.ceiling);
        }
        (self.floor.min(high), high)
    }

    fn adjust(&mut self, ns: i64, running: u32, low: u32, high: u32) {
        if running > self.cap {
            self.settled = self.judged.wrapping_add(self.settle);
        } else if ns > self.target && self.judged >= self.settled {
            self.cut(ns, running, low);
        } else if ns < self.resume {
            self.warned = false;
            if running == self.cap {
                self.cap = self.cap.wrapping_add(self.increase).min(high);
            }
        }
    }

    fn cut(&mut self, ns: i64, running: u32, low: u32) {
        if self.cap == low && !self.warned {
            self.warned = true;
            warn!(
                "tpot={}us is not held even at max_seqs={}: {}us",
                self.target / 1000,
                low,
                ns / 1000
            );
        }
        self.cap = ((i64::from(running) * self.decrease / ONE) as u32).max(low);
        self.settled = self.judged.wrapping_add(self.settle);
    }
}

// The saved state: a version, the cap, and the step of the last decision.
const STATE_VERSION: u8 = 1;

impl SaveState for TpotCap {
    fn save(&self, to: &mut Writer) {
        if self.cap == 0 {
            return;
        }
        to.u8(STATE_VERSION);
        to.u32(self.cap);
        to.u64(self.judged);
    }

    /// The cap is brought into this version's bounds at the next step.
    fn restore(&mut self, from: &mut Reader) -> Result<(), &'static str> {
        match (from.u8(), from.u32(), from.u64(), from.is_empty()) {
            (Some(STATE_VERSION), Some(cap), Some(judged), true) => {
                self.cap = cap;
                self.judged = judged;
                self.settled = judged.wrapping_add(self.settle);
                Ok(())
            }
            _ => Err("the saved state is not one of tpot-cap's version 1"),
        }
    }
}

export!(TpotCap);
