//! Asks a policy natively, as the host does in the sandbox. It is not there in a module.
//!
//! ```
//! use sluice_policy::testing::Tester;
//! use sluice_policy::*;
//!
//! struct Full;
//! impl Policy for Full {
//!     const NEW: Full = Full;
//! }
//! impl Admit for Full {
//!     fn admit(&mut self, st: &State, rows: &[Row], out: &mut [Verdict]) {
//!         for (row, verdict) in rows.iter().zip(out) {
//!             if row.is(Phase::ARRIVAL) && st.blocks_free == 0 {
//!                 *verdict = Verdict::reject(529, Reason::CAPACITY);
//!             }
//!         }
//!     }
//! }
//!
//! let mut full = Tester::<Full>::new();
//! assert_eq!(full.admit(&State { blocks_free: 1, ..State::ZERO }, &[Row::ZERO]), [Verdict::abstain()]);
//! assert_eq!(full.admit(&State::ZERO, &[Row::ZERO])[0].status, 529);
//! ```

use crate::{
    calls, Admit, BatchCap, Config, Configure, Events, Policy, Prioritize, Reader, SaveState, Speculate, Writer,
};
use crate::{BatchPlan, Event, Ranking, Row, SpecPlan, State, Verdict};
use std::fmt::Write;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// A policy under test.
pub struct Tester<P> {
    /// The policy itself.
    pub policy: P,
}

impl<P: Policy> Tester<P> {
    /// A policy that is not configured: for those without settings.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Tester<P> {
        Tester { policy: P::NEW }
    }
}

impl<P: Configure> Tester<P> {
    /// A policy with settings. The error is what whoever pushes it with them would read.
    pub fn with(settings: &[(&str, &str)]) -> Result<Tester<P>, String> {
        let mut t = Tester { policy: P::NEW };
        let pairs: Vec<String> = settings
            .iter()
            .map(|(k, v)| format!("{}:{}", quoted(k), quoted(v)))
            .collect();
        let mut json = format!("{{{}}}", pairs.join(",")).into_bytes();
        Config::parse(&mut json)
            .apply(&mut t.policy)
            .map_err(|why| why.to_string())?;
        Ok(t)
    }
}

fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).expect("room in a String"),
            c => out.push(c),
        }
    }
    out + "\""
}

impl<P: Admit> Tester<P> {
    /// A verdict for each row.
    pub fn admit(&mut self, st: &State, rows: &[Row]) -> Vec<Verdict> {
        let mut out = std::vec![Verdict::ZERO; rows.len()];
        calls::admit(&mut self.policy, st, rows, &mut out);
        out
    }
}

impl<P: Prioritize> Tester<P> {
    /// A ranking for each row; `None` when the policy leaves the order to the host.
    pub fn prioritize(&mut self, st: &State, rows: &[Row]) -> Option<Vec<Ranking>> {
        let mut out = std::vec![Ranking::ZERO; rows.len()];
        calls::prioritize(&mut self.policy, st, rows, &mut out).then_some(out)
    }
}

impl<P: BatchCap> Tester<P> {
    /// The limits; `None` when the policy leaves them to the host.
    pub fn batch_cap(&mut self, st: &State) -> Option<BatchPlan> {
        self.policy.batch_cap(st)
    }
}

impl<P: Speculate> Tester<P> {
    /// The plan and a k for each row; `None` when the policy leaves them to the host.
    pub fn speculate(&mut self, st: &State, rows: &[Row]) -> Option<(SpecPlan, Vec<i32>)> {
        let (mut plan, mut k) = (SpecPlan::ZERO, std::vec![0; rows.len()]);
        calls::speculate(&mut self.policy, st, rows, &mut plan, &mut k).then_some((plan, k))
    }
}

impl<P: Events> Tester<P> {
    /// Tells the policy what happened.
    pub fn events(&mut self, st: &State, events: &[Event]) {
        self.policy.events(st, events);
    }
}

impl<P: SaveState> Tester<P> {
    /// What the policy hands to its next version.
    pub fn save(&self) -> Vec<u8> {
        let mut to = Writer::new();
        self.policy.save(&mut to);
        to.bytes().to_vec()
    }

    /// Hands saved state to the policy. The error is what the server would log.
    pub fn restore(&mut self, from: &[u8]) -> Result<(), &'static str> {
        self.policy.restore(&mut Reader::new(from))
    }
}
