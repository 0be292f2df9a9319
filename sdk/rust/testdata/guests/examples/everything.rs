//! A policy with every hook. What it answers depends on all that it is shown, so that a misplaced byte changes an answer.
#![cfg_attr(target_arch = "wasm32", no_std)]

use sluice_policy::*;

struct Everything {
    limit: i64,
    events: u32,
}

impl Policy for Everything {
    const NEW: Everything = Everything { limit: 0, events: 0 };
}

impl Configure for Everything {
    fn configure(&mut self, c: &mut Config) -> Result<(), &'static str> {
        self.limit = c.duration("limit", SECOND, 0..=HOUR);
        if !c.string("why", "").is_empty() {
            return Err("told to refuse");
        }
        Ok(())
    }
}

impl Admit for Everything {
    fn admit(&mut self, st: &State, rows: &[Row], out: &mut [Verdict]) {
        for (row, verdict) in rows.iter().zip(out).filter(|(row, _)| !row.is(Phase::ARRIVAL)) {
            *verdict = if row.wait_ns > self.limit {
                Verdict::reject(429, Reason::QUEUE_AGE).retry_after(row.wait_ns)
            } else {
                Verdict::degrade()
                    .max_tokens(row.max_tokens / 2)
                    .speculation(st.k_max as i32)
                    .class(3)
                    .priority(row.priority.wrapping_sub(1))
            };
        }
    }
}

impl Prioritize for Everything {
    fn prioritize(&mut self, st: &State, rows: &[Row], out: &mut [Ranking]) -> bool {
        for (row, rank) in rows.iter().zip(out) {
            rank.score = row.arrival_ns;
            rank.victim_rank = row.tenant_served_out as i64;
            rank.allow(RankFlag::PROTECTED);
        }
        st.running > 0
    }
}

impl BatchCap for Everything {
    fn batch_cap(&mut self, st: &State) -> Option<BatchPlan> {
        let mut plan = BatchPlan {
            max_seqs: st.max_num_seqs,
            ..BatchPlan::ZERO
        };
        plan.class_max_seqs[15] = st.classes[15].waiting;
        plan.max_batched_tokens = st.raw_step_cost_ns[127] as u32; // whatever its bit says
        Some(plan)
    }
}

impl Speculate for Everything {
    fn speculate(&mut self, st: &State, rows: &[Row], k: &mut [i32]) -> Option<SpecPlan> {
        for (_, k) in rows.iter().zip(k).filter(|(row, _)| row.speculation_allowed == 0) {
            *k = 0;
        }
        Some(SpecPlan {
            k: st.k_max.min(MAX_DRAFT as u32),
            ..SpecPlan::ZERO
        })
    }
}

impl Events for Everything {
    fn events(&mut self, _: &State, events: &[Event]) {
        for e in events {
            self.events = self.events.wrapping_add(e.value as u32);
        }
        metric(3, i64::from(self.events));
    }
}

impl SaveState for Everything {
    fn save(&self, to: &mut Writer) {
        to.u16(self.events as u16);
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), &'static str> {
        match (from.u16(), from.is_empty()) {
            (Some(events), true) => {
                self.events = u32::from(events);
                Ok(())
            }
            _ => Err("not two bytes"),
        }
    }
}

export!(Everything);
