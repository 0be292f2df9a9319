// What policies often need, in integers and in a fixed amount of memory: averages, windows, switches, token buckets. Include
// sluice.h, which includes this. The rules, to the integer, are those of the Go SDK; sdk/vectors/helpers.txt has examples.
// A helper that is all zeros but for its settings is ready; none of them allocates or looks at a clock.
#ifndef SLUICE_HELPERS_H
#define SLUICE_HELPERS_H

#include "sluice_number.h"

static inline int64_t sluice_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t sluice_max(int64_t a, int64_t b) { return a > b ? a : b; }

// sluice_clamp brings x between low and high; low > high is low's.
static inline int64_t sluice_clamp(int64_t x, int64_t low, int64_t high) { return sluice_max(sluice_min(x, high), low); }

// Shifts of signed numbers as two's complement has them: to the left without overflow, to the right rounded down.
static inline int64_t sluice_shl(int64_t x, uint32_t bits) { return (int64_t)((uint64_t)x << bits); }
static inline int64_t sluice_shr(int64_t x, uint32_t bits) { return x >> bits; }

#define SLUICE_MAX_SAMPLE (INT64_C(1) << 46)
#define SLUICE_MAX_TIME (INT64_C(1) << 62)

// sluice_ewma is an exponentially weighted moving average; shift 0 keeps the newest value only.
typedef struct sluice_ewma {
    uint8_t shift; // a new value has the weight 1/2^shift, 0 to 16

    int64_t scaled; // the average times 2^shift
    bool seeded;
} sluice_ewma;

static inline uint32_t sluice_ewma_shift(const sluice_ewma *e) { return e->shift < 16 ? e->shift : 16; }

// sluice_ewma_add takes a value, clamped to 2^46 in size. The first one is the average.
static inline void sluice_ewma_add(sluice_ewma *e, int64_t x) {
    x = sluice_clamp(x, -SLUICE_MAX_SAMPLE, SLUICE_MAX_SAMPLE);
    if (e->seeded) {
        e->scaled += x - sluice_shr(e->scaled, sluice_ewma_shift(e));
    } else {
        e->seeded = true;
        e->scaled = sluice_shl(x, sluice_ewma_shift(e));
    }
}

// sluice_ewma_value is the average, rounded down; 0 before the first value, which e->seeded tells.
static inline int64_t sluice_ewma_value(const sluice_ewma *e) { return sluice_shr(e->scaled, sluice_ewma_shift(e)); }

static inline void sluice_ewma_reset(sluice_ewma *e) {
    e->scaled = 0;
    e->seeded = false;
}

// sluice_hysteresis is a switch that a value moves, and that does not flap when the value does. It goes on at once when the
// value is greater than above, and off when the value has been at most below for hold.
typedef struct sluice_hysteresis {
    int64_t above, below; // below <= above
    int64_t hold;         // in the unit of at: steps or ns; 0 = off at once

    bool on, calm;
    int64_t since; // start of the calm
} sluice_hysteresis;

// sluice_hysteresis_update moves the switch and reports whether it is on. at must not decrease; a jump back restarts hold.
static inline bool sluice_hysteresis_update(sluice_hysteresis *h, int64_t at, int64_t value) {
    if (value > h->above) {
        h->on = true;
        h->calm = false;
    } else if (h->on && value > h->below) {
        h->calm = false;
    } else if (h->on && (!h->calm || at < h->since)) {
        h->calm = true;
        h->since = at;
    }
    if (h->calm && (int64_t)((uint64_t)at - (uint64_t)h->since) >= h->hold) h->on = h->calm = false;
    return h->on;
}

#define SLUICE_MAX_BUCKETS 64

// sluice_window adds up what happened in a sliding window of time, in buckets of equal width: the one in progress and those
// before it. Its time begins with the first add. width counts as 1 ns to 100 s, buckets as 1 to 64, times as 0 to 2^62.
typedef struct sluice_window {
    int64_t width; // ns, of one bucket
    uint8_t buckets;

    int64_t sums[SLUICE_MAX_BUCKETS];
    int64_t begin, latest, head;
    bool begun;
} sluice_window;

static inline int64_t sluice_window_width(const sluice_window *w) { return sluice_clamp(w->width, 1, 100 * SLUICE_SECOND); }
static inline int64_t sluice_window_buckets(const sluice_window *w) { return sluice_clamp(w->buckets, 1, SLUICE_MAX_BUCKETS); }

static inline void sluice_window_start(sluice_window *w, int64_t now, bool begun) {
    for (int i = 0; i < SLUICE_MAX_BUCKETS; i++) w->sums[i] = 0;
    w->begin = w->latest = sluice_clamp(now, 0, SLUICE_MAX_TIME);
    w->head = 0;
    w->begun = begun;
}

// sluice_window_reset forgets everything.
static inline void sluice_window_reset(sluice_window *w) { sluice_window_start(w, 0, false); }

// sluice_window_advance empties the buckets that the window has moved over. A time that is earlier than the latest one counts
// as the latest, unless it is so by the whole window: then everything is forgotten.
static inline void sluice_window_advance(sluice_window *w, int64_t now) {
    if (!w->begun) return;
    now = sluice_clamp(now, 0, SLUICE_MAX_TIME);
    int64_t n = sluice_window_buckets(w);
    if (now <= w->latest) {
        if (w->latest - now >= n * sluice_window_width(w)) sluice_window_start(w, now, true);
        return;
    }
    w->latest = now;
    int64_t head = (now - w->begin) / sluice_window_width(w);
    for (int64_t i = sluice_max(w->head, head - n) + 1; i <= head; i++) w->sums[i % n] = 0;
    w->head = head;
}

// sluice_window_add counts x, clamped to 2^46 in size, at the time now in ns. A bucket's sum is clamped to 2^56.
static inline void sluice_window_add(sluice_window *w, int64_t now, int64_t x) {
    if (w->begun) {
        sluice_window_advance(w, now);
    } else {
        sluice_window_start(w, now, true);
    }
    int64_t *sum = &w->sums[w->head % sluice_window_buckets(w)];
    x = sluice_clamp(x, -SLUICE_MAX_SAMPLE, SLUICE_MAX_SAMPLE);
    *sum = sluice_clamp(*sum + x, -(INT64_C(1) << 56), INT64_C(1) << 56);
}

// sluice_window_sum is what was added in the window that ends at now.
static inline int64_t sluice_window_sum(sluice_window *w, int64_t now) {
    sluice_window_advance(w, now);
    int64_t sum = 0;
    for (int64_t i = 0; i < sluice_window_buckets(w); i++) sum += w->sums[i];
    return sum;
}

// sluice_window_rate is the sum per 1,000 seconds, rounded towards 0 and clamped to 2^62 in size. The divisor is the time that
// the window covers: from its first bucket's beginning, or from the first add if that was later, to now; at least width; in
// microseconds, rounded up.
static inline int64_t sluice_window_rate(sluice_window *w, int64_t now) {
    const int64_t milli = 1000000000; // of one event a microsecond
    int64_t sum = sluice_window_sum(w, now), width = sluice_window_width(w), age = w->latest - w->begin;
    int64_t covered = sluice_min(age, (sluice_window_buckets(w) - 1) * width + age % width);
    int64_t us = (sluice_max(covered, width) + 999) / 1000;
    int64_t whole = sum / us, rest = sum % us;
    if (whole >= SLUICE_MAX_TIME / milli) return SLUICE_MAX_TIME;
    if (whole <= -SLUICE_MAX_TIME / milli) return -SLUICE_MAX_TIME;
    return whole * milli + rest * milli / us;
}

#endif
