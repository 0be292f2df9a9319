// Hostile: once 99 requests wait, which no self-test shows, it calls itself for ever.
#include "sluice.h"

static volatile uint32_t depth;

static uint32_t deeper(uint32_t n) {
    depth = n;
    return deeper(n + 1) + depth; // not a tail call: depth is read after it
}

static void admit(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    (void)rows, (void)out;
    if (st->waiting_requests == 99) depth = deeper(0);
}

SLUICE_POLICY(.reads = SLUICE_GROUP_BASIC, .admit = admit)
