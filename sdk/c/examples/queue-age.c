// Queue-age sheds what has waited too long. It decides what policies/queue-age decides, whose comment has the rules and the settings.
#include "sluice.h"

static int64_t max_age[SLUICE_CLASSES];     // ns
static int64_t pressed_age[SLUICE_CLASSES]; // ns; the same under pressure
static int64_t arrival_factor;              // ppm
static uint16_t status;

static bool paused;
static int64_t resumed_at; // ns; waits count from here on

// share is ns times a ratio in ppm. It does not overflow for a day and a ratio of a thousand.
static int64_t share(int64_t ns, int64_t ppm) { return ns / SLUICE_ONE * ppm + ns % SLUICE_ONE * ppm / SLUICE_ONE; }

static void configure(sluice_config *c) {
    static const char *const names[] = {"503", "429", "529"};
    static const uint16_t codes[] = {503, 429, 529};
    sluice_get_class_durations(c, "max_age", 10 * SLUICE_SECOND, SLUICE_MILLISECOND, 24 * SLUICE_HOUR, max_age);
    int64_t pressure = sluice_get_ratio(c, "pressure", SLUICE_ONE / 2, 0, SLUICE_ONE);
    for (int i = 0; i < SLUICE_CLASSES; i++) pressed_age[i] = share(max_age[i], pressure);
    arrival_factor = sluice_get_ratio(c, "arrival_factor", 0, 0, 1000 * SLUICE_ONE);
    status = codes[sluice_get_one_of(c, "status", names, 3)];
}

// follow notices pauses.
static void follow(const sluice_state *st) {
    bool now = st->host_state == SLUICE_HOST_STATE_PAUSED;
    if (paused && !now) resumed_at = st->now_ns;
    paused = now;
}

// limits are the ages in force: below the first class under pressure they are shorter. Of a wait only counted ns count.
static void limits(const sluice_state *st, int64_t counted, int64_t limit[SLUICE_CLASSES]) {
    bool pressed = false;
    for (int c = 0; c < SLUICE_CLASSES; c++) {
        limit[c] = pressed ? pressed_age[c] : max_age[c];
        int64_t oldest = sluice_min(st->classes[c].oldest_wait_ns, counted);
        pressed = pressed || (st->classes[c].waiting > 0 && oldest > pressed_age[c]);
    }
}

static void judge_queued(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    int64_t counted = st->now_ns - resumed_at, limit[SLUICE_CLASSES];
    limits(st, counted, limit);
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        uint32_t class = sluice_row_class(r);
        int64_t wait = sluice_min(r->wait_ns, counted);
        if (r->phase == SLUICE_PHASE_QUEUED && wait > limit[class]) {
            out[i] = sluice_reject(status, wait > max_age[class] ? SLUICE_REASON_QUEUE_AGE : SLUICE_REASON_PRIORITY);
        }
    }
}

// count turns the longest wait of each class in ns into places, at what a place in the queue takes now.
static void count(const sluice_state *st, int64_t places[SLUICE_CLASSES]) {
    int64_t each = sluice_max(st->estimated_wait_ns / (int64_t)st->waiting_requests, 1), ahead = 0;
    for (int c = 0; c < SLUICE_CLASSES; c++) {
        ahead += st->classes[c].waiting;
        places[c] = places[c] / each - ahead;
    }
}

// take lets a request in and reports true, unless it would wait too long. What stands before it is its own class and the more
// important ones.
static bool take(int64_t places[SLUICE_CLASSES], uint32_t class) {
    if (places[class] < 0) return false;
    for (uint32_t c = class; c < SLUICE_CLASSES; c++) places[c]--;
    return true;
}

static void judge_arrivals(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    int64_t places[SLUICE_CLASSES];
    for (int c = 0; c < SLUICE_CLASSES; c++) places[c] = share(max_age[c], arrival_factor);
    count(st, places);
    for (uint32_t i = 0; i < rows.n; i++) {
        const sluice_row *r = sluice_row_at(rows, i);
        if (r->phase == SLUICE_PHASE_ARRIVAL && !take(places, sluice_row_class(r))) out[i] = sluice_reject(status, SLUICE_REASON_QUEUE_AGE);
    }
}

static void admit(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    follow(st);
    if (!paused) judge_queued(st, rows, out);
    if (arrival_factor > 0 && sluice_has(st->valid, SLUICE_STATE_HAS_ESTIMATED_WAIT_NS) && st->waiting_requests > 0) {
        judge_arrivals(st, rows, out);
    }
}

SLUICE_POLICY(.reads = SLUICE_GROUP_SPEED | SLUICE_GROUP_CLASSES, .configure = configure, .admit = admit)
