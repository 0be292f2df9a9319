// The C SDK for Sluice policies. A policy is one C11 file that includes this header, keeps what it knows in static variables,
// and registers its hooks; it needs no libc.
//
//     #include "sluice.h"
//
//     static int64_t max_wait;
//
//     static void configure(sluice_config *c) {
//         max_wait = sluice_get_duration(c, "max_wait", 10 * SLUICE_SECOND, SLUICE_MILLISECOND, SLUICE_HOUR);
//     }
//
//     static void admit(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
//         (void)st;
//         for (uint32_t i = 0; i < rows.n; i++) {
//             const sluice_row *r = sluice_row_at(rows, i);
//             if (r->phase == SLUICE_PHASE_QUEUED && r->wait_ns > max_wait) out[i] = sluice_reject(503, SLUICE_REASON_QUEUE_AGE);
//         }
//     }
//
//     SLUICE_POLICY(.configure = configure, .admit = admit, .reads = SLUICE_GROUP_BASIC)
//
//     clang --target=wasm32 -std=c11 -O2 -mbulk-memory -fwrapv -nostdlib -Wl,--no-entry -o policy.wasm policy.c
//
// It is included by one file of a policy only: it holds the memory that the host writes to. Natively, sluice_test.h asks the
// policy's hooks in its place.
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice_abi.h"
#include "sluice_config.h"
#include "sluice_control.h"
#include "sluice_verdict.h"

// Bounds of one call.
#define SLUICE_MAX_ROWS 256 // rows, and events
#define SLUICE_CLASSES 16   // request classes; 0 is the default and the most important one
#define SLUICE_MAX_DRAFT 15 // draft tokens for one row of one step

// How many bytes save may write.
#define SLUICE_SAVE_ROOM 4096

// sluice_rows is the requests that a hook is shown. Of each, only what the policy reads is there.
typedef struct sluice_rows {
    const void *at;
    uint32_t n;
    uint32_t stride; // bytes
} sluice_rows;

// sluice_row_at is row i, of 0 to rows.n - 1. Fields of groups that the policy does not read must not be looked at.
static inline const sluice_row *sluice_row_at(sluice_rows rows, uint32_t i) {
    return (const sluice_row *)(const void *)((const char *)rows.at + (size_t)i * rows.stride);
}

// sluice_row_class is the class as an index into arrays of SLUICE_CLASSES elements: in range whatever the byte says.
static inline uint32_t sluice_row_class(const sluice_row *r) { return r->class & (SLUICE_CLASSES - 1); }

// sluice_has reports whether the optional fields named by bits all hold a value: sluice_has(st->valid, SLUICE_STATE_HAS_STEP_NS).
static inline bool sluice_has(uint64_t valid, uint64_t bits) { return (valid & bits) == bits; }

// sluice_policy is a policy's hooks. Each one that is not NULL is declared to the host; for the others its own default holds.
typedef struct sluice_policy {
    // The set of SLUICE_GROUP_s that the policy looks at, so that the host computes and copies no others. 0 = all.
    uint32_t reads;

    // Takes the settings; called once, before everything else. A setting that no getter names is refused by itself.
    void (*configure)(sluice_config *c);
    // Judges requests: when they arrive, and again while they wait. out[i] is for row i and abstains until it is written.
    void (*admit)(const sluice_state *st, sluice_rows rows, sluice_verdict *out);
    // Ranks what waits, and what runs as victims. False leaves the order to the host.
    bool (*prioritize)(const sluice_state *st, sluice_rows rows, sluice_ranking *out);
    // Limits the batch. A field of out that stays 0 means the host's own limit, and so does false for all of them.
    bool (*batch_cap)(const sluice_state *st, sluice_batch_plan *out);
    // Says how many tokens to draft. k[i] is for row i and is -1, out->k's value, until it is written. False is none.
    bool (*speculate)(const sluice_state *st, sluice_rows rows, sluice_spec_plan *out, int32_t *k);
    // Hears once a step what happened.
    void (*events)(const sluice_state *st, const sluice_event *events, uint32_t n);
    // Writes what the next version of the policy is to know, at most SLUICE_SAVE_ROOM bytes, and returns how many.
    uint32_t (*save)(uint8_t *to);
    // Takes what an earlier version saved, after configure. It checks everything; what it returns is logged, and NULL is success.
    const char *(*restore)(const uint8_t *from, uint32_t n);
} sluice_policy;

#include "sluice_calls.h"

#endif
