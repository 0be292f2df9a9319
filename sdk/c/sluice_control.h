// Token buckets, controllers and tenants. Include sluice.h, which includes this; sluice_helpers.h says what holds for all.
#ifndef SLUICE_CONTROL_H
#define SLUICE_CONTROL_H

#include "sluice_helpers.h"

// A wait that does not end.
#define SLUICE_FOREVER INT64_MAX

// sluice_token_bucket lets rate tokens a second through in the mean, and burst at once. It begins full, and its time begins with
// the first call. rate counts as 0 to 8*10^9, burst as 0 to 10^12. A time earlier than that of the last call refills nothing.
typedef struct sluice_token_bucket {
    int64_t rate;  // tokens per 1,000 seconds
    int64_t burst; // tokens

    int64_t level; // thousandths of a token
    int64_t part;  // billionths of a thousandth
    int64_t at;    // ns
    bool begun;
} sluice_token_bucket;

static inline int64_t sluice_bucket_rate(const sluice_token_bucket *b) { return sluice_clamp(b->rate, 0, INT64_C(8000000000)); }
static inline int64_t sluice_bucket_most(const sluice_token_bucket *b) { return sluice_clamp(b->burst, 0, INT64_C(1000000000000)) * 1000; }

static inline void sluice_bucket_cap(sluice_token_bucket *b) {
    if (b->level < sluice_bucket_most(b)) return;
    b->level = sluice_bucket_most(b);
    b->part = 0;
}

static inline void sluice_bucket_refill(sluice_token_bucket *b, int64_t now) {
    int64_t most = sluice_bucket_most(b), rate = sluice_bucket_rate(b);
    now = sluice_clamp(now, 0, SLUICE_MAX_TIME);
    if (!b->begun) {
        b->begun = true;
        b->at = now;
        b->level = most;
        b->part = 0;
    }
    int64_t passed = sluice_max(now - b->at, 0), seconds = passed / SLUICE_SECOND;
    b->at = now;
    if (rate > 0 && seconds > most / rate) {
        b->level = most;
    } else {
        b->part += rate * (passed % SLUICE_SECOND);
        b->level += rate * seconds + b->part / SLUICE_SECOND;
        b->part %= SLUICE_SECOND;
    }
    sluice_bucket_cap(b);
}

// sluice_bucket_until is how long it takes to refill so many thousandths, rounded up.
static inline int64_t sluice_bucket_until(const sluice_token_bucket *b, int64_t missing) {
    int64_t rate = sluice_bucket_rate(b);
    if (rate == 0 || missing / rate >= 9 * SLUICE_SECOND) return SLUICE_FOREVER;
    int64_t ns = missing % rate * SLUICE_SECOND - b->part;
    if (ns > 0) ns += rate - 1;
    return missing / rate * SLUICE_SECOND + ns / rate;
}

// sluice_bucket_take takes n tokens at the time now, in ns, and returns 0; or takes nothing and returns how long it is until they
// are there if nobody else takes any: SLUICE_FOREVER for more than burst, or more than there are at a rate of 0. n < 1 is 0.
static inline int64_t sluice_bucket_take(sluice_token_bucket *b, int64_t now, int64_t n) {
    sluice_bucket_refill(b, now);
    if (n < 1) return 0;
    if (n > sluice_bucket_most(b) / 1000) return SLUICE_FOREVER;
    if (n * 1000 > b->level) return sluice_bucket_until(b, n * 1000 - b->level);
    b->level -= n * 1000;
    return 0;
}

// sluice_bucket_give puts n tokens back, up to burst in all; for n < 1 none.
static inline void sluice_bucket_give(sluice_token_bucket *b, int64_t now, int64_t n) {
    sluice_bucket_refill(b, now);
    b->level += sluice_clamp(n, 0, INT64_C(1000000000000)) * 1000;
    sluice_bucket_cap(b);
}

// sluice_bucket_level is how many thousandths of a token are there at the time now.
static inline int64_t sluice_bucket_level(sluice_token_bucket *b, int64_t now) {
    sluice_bucket_refill(b, now);
    return b->level;
}

// sluice_bucket_reset fills the bucket, as at the beginning.
static inline void sluice_bucket_reset(sluice_token_bucket *b) { b->begun = false; }

// sluice_pid is a controller: it turns an error, how far a measure is from its target, into a setting. It counts updates and not
// time. A gain is so many 2^shift-ths of a unit of the setting for a unit of the error. Gains are clamped to 2^20 in size,
// errors to 2^40, limits to 2^31, and shift counts as at most 30. high below low counts as low.
typedef struct sluice_pid {
    int64_t kp, ki, kd;
    uint8_t shift;
    int64_t low, high; // limits of the setting

    int64_t integral; // times 2^shift
    int64_t last;
    bool begun;
} sluice_pid;

static inline uint32_t sluice_pid_shift(const sluice_pid *c) { return c->shift < 30 ? c->shift : 30; }
static inline int64_t sluice_pid_low(const sluice_pid *c) { return sluice_clamp(c->low, -(INT64_C(1) << 31), INT64_C(1) << 31); }
static inline int64_t sluice_pid_high(const sluice_pid *c) {
    return sluice_max(sluice_clamp(c->high, -(INT64_C(1) << 31), INT64_C(1) << 31), sluice_pid_low(c));
}
static inline int64_t sluice_pid_gain(int64_t k) { return sluice_clamp(k, -(1 << 20), 1 << 20); }

// sluice_pid_update takes the error and returns the setting: (kp*error + integral + kd*(error - last error)) / 2^shift, rounded
// down and clamped. integral grows by ki*error, within what alone would give low or high.
static inline int64_t sluice_pid_update(sluice_pid *c, int64_t error) {
    error = sluice_clamp(error, -(INT64_C(1) << 40), INT64_C(1) << 40);
    if (!c->begun) c->last = error;
    c->begun = true;
    uint32_t shift = sluice_pid_shift(c);
    int64_t low = sluice_pid_low(c), high = sluice_pid_high(c);
    c->integral = sluice_clamp(c->integral + sluice_pid_gain(c->ki) * error, sluice_shl(low, shift), sluice_shl(high, shift));
    int64_t sum = sluice_pid_gain(c->kp) * error + c->integral + sluice_pid_gain(c->kd) * (error - c->last);
    c->last = error;
    return sluice_clamp(sluice_shr(sum, shift), low, high);
}

// sluice_pid_reset begins anew, so that an error of 0 gives the setting, clamped to low and high.
static inline void sluice_pid_reset(sluice_pid *c, int64_t setting) {
    c->integral = sluice_shl(sluice_clamp(setting, sluice_pid_low(c), sluice_pid_high(c)), sluice_pid_shift(c));
    c->last = 0;
    c->begun = false;
}

// sluice_tenant is what a policy keeps of one tenant. All fields but id are the policy's to set.
typedef struct sluice_tenant {
    uint64_t id;      // sluice_row.tenant
    int64_t weight;   // 1 at first
    int64_t inflight; // requests
    int64_t served;   // tokens
    int64_t value;    // whatever else
} sluice_tenant;

#define SLUICE_TENANT_SLOTS 256

// sluice_tenant_table keeps the tenants that were seen last: a new one takes the place of the one that was not seen for longest.
// size counts as 1 to 256, 0 as 256, and must not change after the first get. Make it a static variable.
typedef struct sluice_tenant_table {
    uint16_t size;

    struct {
        sluice_tenant t;
        uint16_t newer, older, next; // next of the same chain
    } slots[SLUICE_TENANT_SLOTS + 1]; // the first stands for none
    uint16_t used, first, last;       // seen last, and not seen for longest
    uint16_t chains[256];
} sluice_tenant_table;

// sluice_tenant_chain is where a tenant's slot is looked for. Ids are hashes already; tests count from 1.
static inline uint16_t *sluice_tenant_chain(sluice_tenant_table *x, uint64_t id) {
    return &x->chains[id * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static inline uint16_t sluice_tenant_slot(sluice_tenant_table *x, uint64_t id) {
    uint16_t n = *sluice_tenant_chain(x, id);
    while (n != 0 && x->slots[n].t.id != id) n = x->slots[n].next;
    return n;
}

// sluice_tenant_find returns the tenant of that id; NULL if it is not in the table.
static inline sluice_tenant *sluice_tenant_find(sluice_tenant_table *x, uint64_t id) {
    uint16_t n = sluice_tenant_slot(x, id);
    return n != 0 ? &x->slots[n].t : NULL;
}

static inline void sluice_tenant_unlink(sluice_tenant_table *x, uint16_t n) {
    uint16_t newer = x->slots[n].newer, older = x->slots[n].older;
    *(newer == 0 ? &x->first : &x->slots[newer].older) = older;
    *(older == 0 ? &x->last : &x->slots[older].newer) = newer;
}

static inline void sluice_tenant_leave(sluice_tenant_table *x, uint16_t n) {
    uint16_t *at = sluice_tenant_chain(x, x->slots[n].t.id);
    while (*at != n) at = &x->slots[*at].next;
    *at = x->slots[n].next;
}

// sluice_tenant_free returns a slot that nobody is in.
static inline uint16_t sluice_tenant_free(sluice_tenant_table *x) {
    uint16_t size = x->size == 0 || x->size > SLUICE_TENANT_SLOTS ? SLUICE_TENANT_SLOTS : x->size;
    if (x->used < size) return ++x->used;
    uint16_t n = x->last;
    sluice_tenant_unlink(x, n);
    sluice_tenant_leave(x, n);
    return n;
}

// sluice_tenant_get returns the tenant of that id, a new one if it is not in the table, and makes it the last one seen. It is
// valid until the next get of another id.
static inline sluice_tenant *sluice_tenant_get(sluice_tenant_table *x, uint64_t id) {
    uint16_t n = sluice_tenant_slot(x, id);
    if (n != 0) {
        sluice_tenant_unlink(x, n);
    } else {
        n = sluice_tenant_free(x);
        uint16_t *head = sluice_tenant_chain(x, id);
        x->slots[n].t = (sluice_tenant){.id = id, .weight = 1};
        x->slots[n].next = *head;
        *head = n;
    }
    x->slots[n].newer = 0;
    x->slots[n].older = x->first;
    *(x->first == 0 ? &x->last : &x->slots[x->first].newer) = n;
    x->first = n;
    return &x->slots[n].t;
}

// sluice_tenant_at returns a tenant by its place, from 0 to x->used - 1. A tenant keeps its place while it is in the table.
static inline sluice_tenant *sluice_tenant_at(sluice_tenant_table *x, uint32_t place) { return &x->slots[place + 1].t; }

static inline int64_t sluice_weight(int64_t w) { return sluice_clamp(w, 1, 1 << 20); }

// sluice_tenant_weights is the sum of the weights of all tenants with something in flight, each at least 1 and at most 2^20.
static inline int64_t sluice_tenant_weights(sluice_tenant_table *x) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < x->used; i++) {
        if (sluice_tenant_at(x, i)->inflight > 0) sum += sluice_weight(sluice_tenant_at(x, i)->weight);
    }
    return sum;
}

// sluice_fair_share is the part of total that a weight among the sum weights is due, rounded down and at least 1. total is clamped
// to 0 and 2^40, weight to 1 and 2^20, and weights to weight and 2^40.
static inline int64_t sluice_fair_share(int64_t total, int64_t weight, int64_t weights) {
    const int64_t most = INT64_C(1) << 40;
    weight = sluice_weight(weight);
    return sluice_max(sluice_clamp(total, 0, most) * weight / sluice_min(sluice_max(weights, weight), most), 1);
}

#endif
