// Class-priority serves the more important class first, without ever starving the others. It decides what
// policies/class-priority decides, whose comment has the rules and the settings.
#include "sluice.h"

// A score is, from its high bits to its low ones: the level, the client's priority, and the age in microseconds, reversed.
#define AGE_BITS 36 // 19 hours
#define PRIORITY_BITS 16
#define LEVEL_SHIFT (AGE_BITS + PRIORITY_BITS)
#define MAX_AGE ((INT64_C(1) << AGE_BITS) - 1)
#define MAX_PRIORITY ((1 << (PRIORITY_BITS - 1)) - 1)
#define MIN_PRIORITY (-MAX_PRIORITY - 1)
#define MIN_LEVEL INT64_C(-1024)

static int64_t age_step; // ns
static bool preempt;
static uint32_t limit;

static void configure(sluice_config *c) {
    age_step = sluice_get_duration(c, "age_step", 5 * SLUICE_SECOND, SLUICE_SECOND / 10, 24 * SLUICE_HOUR);
    preempt = sluice_get_bool(c, "preempt", true);
    limit = (uint32_t)sluice_get_int(c, "preempt_limit", 4, 0, 100);
}

static int64_t level_of(int64_t score) { return sluice_shr(score, LEVEL_SHIFT); }

// level is the class after ageing; lower is better, and it has no lower end that anyone would reach.
static int64_t level(const sluice_row *r, int64_t waited) {
    return sluice_max((int64_t)sluice_row_class(r) - waited / age_step, MIN_LEVEL);
}

static int64_t youth(int64_t age) { return MAX_AGE - sluice_min(age / 1000, MAX_AGE); }

static bool in(const sluice_row *r, uint8_t phase) { return r->phase == phase; }

// rank_waiting: lower is who goes first. Priorities beyond 16 bits count as the outermost ones.
static void rank_waiting(const sluice_row *r, sluice_ranking *out) {
    int64_t age = sluice_max(r->age_ns, 0), priority = sluice_clamp(r->priority, MIN_PRIORITY, MAX_PRIORITY) - MIN_PRIORITY;
    out->score = sluice_shl(level(r, age), LEVEL_SHIFT) + sluice_shl(priority, AGE_BITS) + youth(age);
}

// rank_running scores what runs at the best of its level, so that no request of the same level is strictly better. The victims
// are the least important class, and in it the youngest.
static void rank_running(const sluice_row *r, sluice_ranking *out) {
    int64_t age = sluice_max(r->age_ns, 0), waited = age;
    if (sluice_has(r->valid, SLUICE_ROW_HAS_FIRST_TOKEN_NS)) {
        waited = sluice_min(sluice_max(r->first_token_ns - r->arrival_ns, 0), age);
    }
    out->score = sluice_shl(level(r, waited), LEVEL_SHIFT);
    out->victim_rank = sluice_shl(sluice_row_class(r), AGE_BITS) + youth(age);
    if (r->preemptions >= limit) out->flags |= SLUICE_RANK_FLAG_PINNED;
}

// rank_victims ranks what runs, and finds for each class the worst level among those of less important classes that may lose
// their places.
static void rank_victims(sluice_rows rows, sluice_ranking *out, int64_t victims[SLUICE_CLASSES]) {
    for (int c = 0; c < SLUICE_CLASSES; c++) victims[c] = MIN_LEVEL;
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        if (!in(r, SLUICE_PHASE_RUNNING)) continue;
        rank_running(r, &out[i]);
        int64_t *worst = &victims[sluice_row_class(r)];
        if (preempt && r->preemptions < limit) *worst = sluice_max(*worst, level_of(out[i].score));
    }
    int64_t worst = MIN_LEVEL;
    for (int c = SLUICE_CLASSES - 1; c >= 0; c--) {
        int64_t own = victims[c];
        victims[c] = worst;
        worst = sluice_max(worst, own);
    }
}

// rank_queue ranks what does not run, and finds the row that goes first and the first one that has a victim; -1 for none.
static void rank_queue(sluice_rows rows, sluice_ranking *out, const int64_t *victims, int32_t *head, int32_t *claimant) {
    *head = *claimant = -1;
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        if (in(r, SLUICE_PHASE_RUNNING)) continue;
        rank_waiting(r, &out[i]);
        if (!in(r, SLUICE_PHASE_QUEUED)) continue;
        int64_t score = out[i].score;
        if (*head < 0 || score < out[*head].score) *head = (int32_t)i;
        if (victims[sluice_row_class(r)] > level_of(score) && (*claimant < 0 || score < out[*claimant].score)) *claimant = (int32_t)i;
    }
}

// shield keeps what a claimant of that class and level may not displace from scoring worse than it.
static void shield(sluice_rows rows, sluice_ranking *out, uint32_t class, int64_t claimed, int64_t score) {
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        if (in(r, SLUICE_PHASE_RUNNING) && (sluice_row_class(r) <= class || level_of(out[i].score) <= claimed)) {
            out[i].score = sluice_min(out[i].score, score);
        }
    }
}

static bool prioritize(const sluice_state *st, sluice_rows rows, sluice_ranking *out) {
    (void)st;
    int64_t victims[SLUICE_CLASSES];
    int32_t head, claimant;
    rank_victims(rows, out, victims);
    rank_queue(rows, out, victims, &head, &claimant);
    if (claimant < 0) return true;
    int64_t claimed = level_of(out[claimant].score);
    if (claimant != head) out[claimant].score = out[head].score - 1;
    out[claimant].flags |= SLUICE_RANK_FLAG_MAY_PREEMPT;
    shield(rows, out, sluice_row_class(sluice_row_at(rows, (uint32_t)claimant)), claimed, out[claimant].score);
    return true;
}

SLUICE_POLICY(.reads = SLUICE_GROUP_ROW_KV | SLUICE_GROUP_ROW_TIMES, .configure = configure, .prioritize = prioritize)
