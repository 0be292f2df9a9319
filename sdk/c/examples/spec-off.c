// Spec-off drafts where that pays, and not at all where it does not. It decides what policies/spec-off decides, whose comment has
// the rules and the settings.
#include "sluice.h"

// How many verified drafts make one sample of the average. A single step's share says little.
#define EVIDENCE 32

// max_batch where the host knows nothing of its steps and no other was given.
#define UNMEASURED 4

static uint32_t k;
static bool limited; // max_batch was given
static uint64_t probe_every;

static sluice_hysteresis large;    // the batch is too large for drafts
static sluice_ewma mean;           // share of accepted drafts, ppm
static sluice_hysteresis rejected; // of SLUICE_ONE - mean: drafts are not worth verifying
static uint64_t drafted, accepted; // the host's totals up to the last sample
static bool begun;
static uint64_t probed; // the step of the last probe, or of the last draft before drafts became poor

static void configure(sluice_config *c) {
    int64_t most = sluice_get_int(c, "max_batch", 0, 0, SLUICE_MAX_ROWS);
    limited = most > 0;
    if (!limited) most = UNMEASURED;
    k = (uint32_t)sluice_get_int(c, "k", SLUICE_MAX_DRAFT, 0, SLUICE_MAX_DRAFT);
    int64_t band = sluice_get_int(c, "band", 1, 0, SLUICE_MAX_ROWS - 1);
    int64_t hold = sluice_get_int(c, "hold_steps", 16, 0, 100000);
    large = (sluice_hysteresis){.above = most, .below = sluice_max(most - band, 1), .hold = hold};
    int64_t least = sluice_get_ratio(c, "min_accept", SLUICE_ONE / 10, 0, SLUICE_ONE);
    mean = (sluice_ewma){.shift = 2};
    rejected = (sluice_hysteresis){.above = SLUICE_ONE - least, .below = SLUICE_ONE - sluice_min(least + least / 4, SLUICE_ONE)};
    begun = false;
    probe_every = (uint64_t)sluice_get_int(c, "probe_every", 64, 1, 100000);
}

// ppm is ok of d in ppm, at most SLUICE_ONE, without overflow for totals of any size.
static uint64_t ppm(uint64_t ok, uint64_t d) {
    if (ok >= d) return SLUICE_ONE;
    while (d >= UINT64_C(1) << 40) {
        ok >>= 1;
        d >>= 1;
    }
    return ok * SLUICE_ONE / d;
}

// learn takes the totals. Totals that went back belong to another run of the host: counting starts anew.
static void learn(uint64_t all, uint64_t good) {
    bool anew = !begun || all < drafted || good < accepted;
    uint64_t d = all - drafted, ok = good - accepted;
    if (!anew && d < EVIDENCE) return;
    begun = true;
    drafted = all;
    accepted = good;
    if (anew) return;
    sluice_ewma_add(&mean, (int64_t)ppm(ok, d));
    sluice_hysteresis_update(&rejected, 0, SLUICE_ONE - sluice_ewma_value(&mean));
}

static bool measured(const sluice_row *r) { return sluice_has(r->valid, SLUICE_ROW_HAS_K_GOODPUT); }

static void take_what_pays(const sluice_state *st, sluice_rows rows, sluice_spec_plan *out, int32_t *row_k) {
    out->k = k < st->k_max ? k : st->k_max;
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        uint32_t pays = measured(r) ? r->k_goodput : 0;
        row_k[i] = (int32_t)(pays < out->k ? pays : out->k);
    }
}

static bool speculate(const sluice_state *st, sluice_rows rows, sluice_spec_plan *out, int32_t *row_k) {
    learn(st->drafted, st->accepted);
    bool is_large = sluice_hysteresis_update(&large, (int64_t)st->step_id, st->running);
    if (rows.n > 0 && measured(sluice_row_at(rows, 0))) {
        probed = st->step_id;
        if (!is_large || !limited) take_what_pays(st, rows, out, row_k);
        return true;
    }
    if (is_large) return true;
    if (rejected.on) {
        if (st->step_id - probed < probe_every) return true;
        out->probe = 1;
    }
    probed = st->step_id;
    out->k = k < st->k_max ? k : st->k_max;
    for (uint32_t i = 0; i < rows.n; i++) {
        if (sluice_row_at(rows, i)->speculation_allowed == 0) row_k[i] = 0;
    }
    return true;
}

SLUICE_POLICY(.reads = SLUICE_GROUP_SPECULATION | SLUICE_GROUP_ROW_SPECULATION, .configure = configure, .speculate = speculate)
