// Verdicts that limit nothing but what they are told to. Include sluice.h, which includes this.
#ifndef SLUICE_VERDICT_H
#define SLUICE_VERDICT_H

#include "sluice_abi.h"
#include "sluice_number.h"

static inline sluice_verdict sluice_verdict_of(uint8_t action) {
    return (sluice_verdict){.action = action, .class_override = -1, .speculation_cap = -1};
}

// sluice_abstain leaves a request to the next policy of the chain, or to the host.
static inline sluice_verdict sluice_abstain(void) { return sluice_verdict_of(SLUICE_ACTION_ABSTAIN); }

// sluice_admit_it lets a request in.
static inline sluice_verdict sluice_admit_it(void) { return sluice_verdict_of(SLUICE_ACTION_ADMIT); }

// sluice_degrade lets a request in under the limits that are set on the verdict.
static inline sluice_verdict sluice_degrade(void) { return sluice_verdict_of(SLUICE_ACTION_DEGRADE); }

// sluice_reject ends a request with an HTTP status (429, 503 or 529; 0 = 503) and a SLUICE_REASON_. Without a retry_after the host
// computes the Retry-After from the rate at which the queue drains.
static inline sluice_verdict sluice_reject(uint16_t status, uint16_t reason) {
    sluice_verdict v = sluice_verdict_of(SLUICE_ACTION_REJECT);
    v.status = status;
    v.reason = reason;
    return v;
}

// sluice_ms is ns in whole milliseconds, rounded up, so that a wish of 1 ns is not none at all.
static inline uint32_t sluice_ms(int64_t ns) {
    if (ns <= 0) return 0;
    int64_t ms = (ns - 1) / SLUICE_MILLISECOND + 1;
    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

// What follows returns a verdict with one thing changed: sluice_retry_after(sluice_reject(429, SLUICE_REASON_QUOTA), wait).

// sluice_retry_after says how long the client is to wait, in ns, rounded up to a millisecond.
static inline sluice_verdict sluice_retry_after(sluice_verdict v, int64_t ns) {
    v.retry_after_ms = sluice_ms(ns);
    return v;
}

// sluice_queue_ttl limits the further time in the queue, in ns, rounded up to a millisecond.
static inline sluice_verdict sluice_queue_ttl(sluice_verdict v, int64_t ns) {
    v.queue_ttl_ms = sluice_ms(ns);
    return v;
}

// sluice_as_class has the request treated as one of another class, 0 to SLUICE_CLASSES - 1.
static inline sluice_verdict sluice_as_class(sluice_verdict v, uint32_t class) {
    v.class_override = (int8_t)(class & 15);
    return v;
}

// sluice_as_priority has the request treated as one of another client priority; lower is earlier.
static inline sluice_verdict sluice_as_priority(sluice_verdict v, int32_t priority) {
    v.priority_override = priority;
    v.has_priority = 1;
    return v;
}

// sluice_max_tokens limits the output tokens; 0 is no limit.
static inline sluice_verdict sluice_max_tokens(sluice_verdict v, uint32_t n) {
    v.max_tokens_cap = n;
    return v;
}

// sluice_speculation limits the draft tokens a step; 0 turns them off for this request.
static inline sluice_verdict sluice_speculation(sluice_verdict v, int32_t k) {
    v.speculation_cap = k > 0 ? k : 0;
    return v;
}

// sluice_because gives an admission a reason.
static inline sluice_verdict sluice_because(sluice_verdict v, uint16_t reason) {
    v.reason = reason;
    return v;
}

#endif
