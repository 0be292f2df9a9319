//! One call of each hook, on slices: natively and in the sandbox alike.

use crate::layout_gen::{BatchPlan, Ranking, Row, SpecPlan, State, Verdict};
use crate::{Admit, BatchCap, Prioritize, Speculate};

pub(crate) fn admit<P: Admit>(p: &mut P, st: &State, rows: &[Row], out: &mut [Verdict]) {
    out.fill(Verdict::abstain());
    p.admit(st, rows, out);
}

pub(crate) fn prioritize<P: Prioritize>(p: &mut P, st: &State, rows: &[Row], out: &mut [Ranking]) -> bool {
    out.fill(Ranking::ZERO);
    p.prioritize(st, rows, out)
}

pub(crate) fn batch_cap<P: BatchCap>(p: &mut P, st: &State, out: &mut BatchPlan) -> bool {
    let plan = p.batch_cap(st);
    *out = plan.unwrap_or(BatchPlan::ZERO);
    plan.is_some()
}

pub(crate) fn speculate<P: Speculate>(p: &mut P, st: &State, rows: &[Row], out: &mut SpecPlan, k: &mut [i32]) -> bool {
    k.fill(-1);
    let plan = p.speculate(st, rows, k);
    *out = plan.unwrap_or(SpecPlan::ZERO);
    plan.is_some()
}
