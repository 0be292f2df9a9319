//! A policy that allocates in every call, and frees what it has allocated.

use sluice_policy::*;

struct Allocates {
    seen: Vec<(u64, String)>,
}

impl Policy for Allocates {
    const NEW: Allocates = Allocates { seen: Vec::new() };
}

impl Admit for Allocates {
    fn admit(&mut self, st: &State, rows: &[Row], out: &mut [Verdict]) {
        assert_ne!(st.waiting_requests, 77, "seventy-seven is one too many");
        let mut ages: Vec<i64> = rows.iter().map(|r| r.age_ns).collect();
        ages.sort_unstable();
        for r in rows.iter().take(16) {
            self.seen.push((st.step_id, format!("{}", r.id)));
        }
        self.seen.retain(|(step, _)| step + 10 > st.step_id);
        let held: usize = self.seen.iter().map(|(_, text)| text.len()).sum();
        for (verdict, age) in out.iter_mut().zip(&ages) {
            *verdict = Verdict::degrade().max_tokens(1 + held as u32).queue_ttl(*age);
        }
    }
}

export!(Allocates);
