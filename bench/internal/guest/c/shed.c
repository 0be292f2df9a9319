// Sheds what has waited longer than its client is willing to wait.
#include "sluice.h"

static void admit(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        out[i] = r->wait_ns > r->client_ttl_ns && st->waiting_requests > 0 ? sluice_reject(503, SLUICE_REASON_QUEUE_AGE) : sluice_admit_it();
    }
}

SLUICE_POLICY(.reads = SLUICE_GROUP_ROW_TIMES, .admit = admit)
