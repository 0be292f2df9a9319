// Ranks by class, then by age: the least that a priority policy does.
#include "sluice.h"

static bool prioritize(const sluice_state *st, sluice_rows rows, sluice_ranking *out) {
    (void)st;
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        out[i].score = (int64_t)r->class * 1000000000000 - r->age_ns;
        out[i].victim_rank = r->class;
    }
    return true;
}

SLUICE_POLICY(.reads = SLUICE_GROUP_BASIC, .prioritize = prioritize)
