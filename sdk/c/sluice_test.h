// Asks a policy natively what the host would ask it in the sandbox, for unit tests. A test is one file that includes this and
// then the policy's own file:
//
//     #include "sluice_test.h"
//     #include "policy.c"
//
//     int main(void) {
//         CHECK(!sluice_test_configure("{\"max_wait\":\"2s\"}"));
//         sluice_state st = {.now_ns = SLUICE_HOUR};
//         sluice_row row = {.phase = SLUICE_PHASE_QUEUED, .wait_ns = 3 * SLUICE_SECOND};
//         CHECK(sluice_test_admit(&st, &row, 1)[0].action == SLUICE_ACTION_REJECT);
//         return sluice_test_result();
//     }
//
// It is no scheduler: it shows a policy the states that the test writes.
#ifndef SLUICE_TEST_H
#define SLUICE_TEST_H

#include <stdio.h>
#include <string.h>

#include "sluice.h"

// What SLUICE_POLICY defines.
const sluice_descriptor *sluice_abi_v1(void);
int32_t sluice_configure(int32_t n);
int32_t sluice_admit(int32_t n);
int32_t sluice_prioritize(int32_t n);
int32_t sluice_batch_cap(void);
int32_t sluice_speculate(int32_t n);
int32_t sluice_events(int32_t n);
int64_t sluice_save(void);
int32_t sluice_restore(int32_t n);

static int sluice_test_failed;

// CHECK notes that something is not as it should be, and goes on.
#define CHECK(ok) \
    ((ok) ? (void)0 : (sluice_test_failed++, (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok)))

// sluice_test_result is what main returns.
__attribute__((unused)) static int sluice_test_result(void) {
    if (sluice_test_failed > 0) fprintf(stderr, "%d checks failed\n", sluice_test_failed);
    return sluice_test_failed > 0;
}

// The last line that the policy logged, its level, how many there were, and the last value of each metric.
static char sluice_test_line[SLUICE_MAX_LINE + 1];
static int32_t sluice_test_level;
static uint32_t sluice_test_lines;
static int64_t sluice_test_metrics[32];

void sluice_host_log(int32_t level, const char *text, uint32_t size) {
    memcpy(sluice_test_line, text, size);
    sluice_test_line[size] = 0;
    sluice_test_level = level;
    sluice_test_lines++;
}

void sluice_host_metric(uint32_t id, int64_t value) {
    CHECK(id < 32);
    if (id < 32) sluice_test_metrics[id] = value;
}

// sluice_test_configure configures the policy with a JSON object of strings, as the host does at load. It returns why the policy
// refuses it, until the next call; NULL when it is taken.
__attribute__((unused)) static const char *sluice_test_configure(const char *json) {
    size_t n = strlen(json);
    CHECK(n <= sizeof sluice_memory.config);
    memcpy(sluice_memory.config, json, n);
    return sluice_configure((int32_t)n) == 0 ? NULL : sluice_test_line;
}

// sluice_test_show writes a state and rows, of which the policy sees what it reads.
static void sluice_test_show(const sluice_state *st, const sluice_row *rows, uint32_t n) {
    uint32_t stride = sluice_abi_v1()->row_stride;
    CHECK(n <= SLUICE_MAX_ROWS);
    sluice_memory.state = *st;
    for (uint32_t i = 0; i < n; i++) memcpy((char *)sluice_memory.rows + (size_t)i * stride, &rows[i], stride);
    memset(&sluice_memory.out, 0, sizeof sluice_memory.out);
}

// What follows asks one hook and returns its answer, valid until the next call: for a hook that may abstain, NULL when it does.

__attribute__((unused)) static const sluice_verdict *sluice_test_admit(const sluice_state *st, const sluice_row *rows, uint32_t n) {
    sluice_test_show(st, rows, n);
    CHECK(sluice_admit((int32_t)n) == SLUICE_RETURN_DECIDED);
    return sluice_memory.out.verdicts;
}

__attribute__((unused)) static const sluice_ranking *sluice_test_prioritize(const sluice_state *st, const sluice_row *rows, uint32_t n) {
    sluice_test_show(st, rows, n);
    return sluice_prioritize((int32_t)n) == SLUICE_RETURN_DECIDED ? sluice_memory.out.rankings : NULL;
}

__attribute__((unused)) static const sluice_batch_plan *sluice_test_batch_cap(const sluice_state *st) {
    sluice_test_show(st, NULL, 0);
    return sluice_batch_cap() == SLUICE_RETURN_DECIDED ? &sluice_memory.out.batch : NULL;
}

// The rows' k is in sluice_memory.out.spec.k.
__attribute__((unused)) static const sluice_spec_plan *sluice_test_speculate(const sluice_state *st, const sluice_row *rows, uint32_t n) {
    sluice_test_show(st, rows, n);
    return sluice_speculate((int32_t)n) == SLUICE_RETURN_DECIDED ? &sluice_memory.out.spec.plan : NULL;
}

__attribute__((unused)) static void sluice_test_events(const sluice_state *st, const sluice_event *events, uint32_t n) {
    sluice_memory.state = *st;
    memcpy(sluice_memory.events, events, n * sizeof *events);
    CHECK(sluice_events((int32_t)n) == SLUICE_RETURN_DECIDED);
}

// sluice_test_save returns how many bytes the policy saves; they are in sluice_memory.saved.
__attribute__((unused)) static uint32_t sluice_test_save(void) { return (uint32_t)sluice_save(); }

// sluice_test_restore hands saved state to the policy, and returns why it declines; NULL when it takes it.
__attribute__((unused)) static const char *sluice_test_restore(const void *saved, uint32_t n) {
    memcpy(sluice_memory.config, saved, n);
    return sluice_restore((int32_t)n) == SLUICE_RETURN_DECIDED ? NULL : sluice_test_line;
}

#endif
