// Spec-off drafts while the batch is small, where verifying drafts is almost free, and not at all when it is large. It decides
// what policies/spec-off decides, whose comment has the rules and the settings.
#include "sluice.h"

// How many verified drafts make one sample of the average. A single step's share says little.
#define EVIDENCE 32

static uint32_t k;
static uint64_t probe_every;

static sluice_hysteresis large;    // the batch is too large for drafts
static sluice_ewma mean;           // share of accepted drafts, ppm
static sluice_hysteresis rejected; // of SLUICE_ONE - mean: drafts are not worth verifying
static uint64_t drafted, accepted; // the host's totals up to the last sample
static bool begun;
static uint64_t probed; // the step of the last probe, or of the last draft before drafts became poor

static void configure(sluice_config *c) {
    int64_t most = sluice_get_int(c, "max_batch", 4, 1, SLUICE_MAX_ROWS);
    k = (uint32_t)sluice_get_int(c, "k", 7, 0, SLUICE_MAX_DRAFT);
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

static bool speculate(const sluice_state *st, sluice_rows rows, sluice_spec_plan *out, int32_t *row_k) {
    learn(st->drafted, st->accepted);
    if (sluice_hysteresis_update(&large, (int64_t)st->step_id, st->running)) return true;
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

SLUICE_POLICY(.reads = SLUICE_GROUP_SPECULATION, .configure = configure, .speculate = speculate)
