// Tpot-cap makes the batch as large as the time per output token allows. It decides what policies/tpot-cap decides, whose comment
// has the rules and the settings.
#include "sluice.h"

static int64_t target, resume; // ns: above target the cap falls, below resume it rises
static uint32_t least, most;   // of the cap; most 0 = the host's limit
static uint32_t increase;
static int64_t decrease; // ppm
static uint64_t hold, settle;

static uint32_t cap;     // 0 until the first step
static uint64_t judged;  // the step of the last decision
static uint64_t settled; // the step from which on the measure is of the batch as it is
static bool warned;

static void configure(sluice_config *c) {
    target = sluice_get_duration(c, "tpot", 50 * SLUICE_MILLISECOND, SLUICE_MILLISECOND / 10, SLUICE_MINUTE);
    least = (uint32_t)sluice_get_int(c, "floor", 1, 1, 4096);
    most = (uint32_t)sluice_get_int(c, "ceiling", 0, 0, 4096);
    resume = target - target * sluice_get_ratio(c, "band", SLUICE_ONE / 10, 0, SLUICE_ONE * 9 / 10) / SLUICE_ONE;
    increase = (uint32_t)sluice_get_int(c, "increase", 1, 1, 64);
    decrease = sluice_get_ratio(c, "decrease", SLUICE_ONE * 3 / 4, SLUICE_ONE / 10, SLUICE_ONE * 99 / 100);
    hold = (uint64_t)sluice_get_int(c, "hold_steps", 16, 1, 1024);
    settle = (uint64_t)sluice_get_int(c, "settle_steps", 64, 0, 100000);
    if (most > 0 && most < least) sluice_refuse(c, "ceiling must not be below floor");
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void cut(int64_t ns, uint32_t running, uint32_t low) {
    if (cap == low && !warned) {
        warned = true;
        sluice_warn("tpot=%lldus is not held even at max_seqs=%u: %lldus", (long long)(target / 1000), low, (long long)(ns / 1000));
    }
    cap = larger((uint32_t)((int64_t)running * decrease / SLUICE_ONE), low);
    settled = judged + settle;
}

static void adjust(int64_t ns, uint32_t running, uint32_t low, uint32_t high) {
    if (running > cap) {
        settled = judged + settle;
    } else if (ns > target && judged >= settled) {
        cut(ns, running, low);
    } else if (ns < resume) {
        warned = false;
        if (running == cap) cap = smaller(cap + increase, high);
    }
}

// measure sets ns to the time of a step for the batch alone, as near as it is known, or to that of a token where that is less.
static bool measure(const sluice_state *st, int64_t *ns) {
    bool known = true;
    if (sluice_has(st->valid, SLUICE_STATE_HAS_DECODE_STEP_P50_NS)) {
        *ns = st->decode_step_p50_ns;
    } else if (sluice_has(st->valid, SLUICE_STATE_HAS_MIN_STEP_NS)) {
        *ns = st->min_step_ns;
    } else {
        known = false;
    }
    if (!sluice_has(st->valid, SLUICE_STATE_HAS_ITL_P50_NS)) return known;
    if (!known || st->itl_p50_ns < *ns) *ns = st->itl_p50_ns;
    return true;
}

static bool batch_cap(const sluice_state *st, sluice_batch_plan *out) {
    uint32_t high = larger(st->max_num_seqs, 1);
    if (most > 0) high = smaller(high, most);
    uint32_t low = smaller(least, high);
    if (cap == 0) {
        cap = high;
        judged = st->step_id;
    }
    cap = smaller(larger(cap, low), high);
    if (st->step_id < judged) judged = settled = st->step_id; // restored from another run
    int64_t ns;
    if (!measure(st, &ns)) {
        cap = high;
        judged = settled = st->step_id;
    } else if (st->running > 0 && st->step_id - judged >= hold) {
        judged = st->step_id;
        adjust(ns, st->running, low, high);
    }
    out->max_seqs = cap;
    out->hold_steps = (uint32_t)hold - 1;
    return true;
}

// The saved state: a version, the cap, and the step of the last decision.
#define STATE_VERSION 1
#define STATE_SIZE (1 + 4 + 8)

static uint32_t save(uint8_t *to) {
    if (cap == 0) return 0;
    to[0] = STATE_VERSION;
    for (int i = 0; i < 4; i++) to[1 + i] = (uint8_t)(cap >> (8 * i));
    for (int i = 0; i < 8; i++) to[5 + i] = (uint8_t)(judged >> (8 * i));
    return STATE_SIZE;
}

// restore takes a cap, which is brought into this version's bounds at the next step.
static const char *restore(const uint8_t *from, uint32_t n) {
    if (n != STATE_SIZE || from[0] != STATE_VERSION) return "the saved state is not one of tpot-cap's version 1";
    cap = 0;
    judged = 0;
    for (int i = 0; i < 4; i++) cap |= (uint32_t)from[1 + i] << (8 * i);
    for (int i = 0; i < 8; i++) judged |= (uint64_t)from[5 + i] << (8 * i);
    settled = judged + settle;
    return NULL;
}

SLUICE_POLICY(.reads = SLUICE_GROUP_SPEED, .configure = configure, .batch_cap = batch_cap, .save = save, .restore = restore)
