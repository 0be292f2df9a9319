// Hostile: once 99 requests wait, which no self-test shows, it loops for ever.
#include "sluice.h"

static volatile uint32_t spins;

static void admit(const sluice_state *st, sluice_rows rows, sluice_verdict *out) {
    (void)rows, (void)out;
    while (st->waiting_requests == 99) spins++;
}

SLUICE_POLICY(.reads = SLUICE_GROUP_BASIC, .admit = admit)
