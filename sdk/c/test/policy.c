// A policy natively, through every call of the ABI: tpot-cap, and that it says what is wrong.
#include "../sluice_test.h"

#include "../examples/tpot-cap.c"

// answers is a state in which so many run at that time per token.
static sluice_state answers(uint64_t step, uint32_t running, int64_t itl) {
    return (sluice_state){
        .size = sizeof(sluice_state),
        .step_id = step,
        .valid = SLUICE_STATE_HAS_ITL_P50_NS,
        .max_num_seqs = 16,
        .running = running,
        .itl_p50_ns = itl,
    };
}

static void what_it_declares(void) {
    const sluice_descriptor *d = sluice_abi_v1();
    CHECK(memcmp(&d->magic, "SLCE", 4) == 0);
    CHECK(d->major == 1 && d->flags == 0);
    CHECK(d->hooks == (SLUICE_HOOK_CONFIGURE | SLUICE_HOOK_BATCH_CAP | SLUICE_HOOK_STATE));
    CHECK(d->reads == (SLUICE_GROUP_SPEED | SLUICE_GROUP_BASIC));
    CHECK(d->state_cap == sizeof(sluice_state) && d->row_stride == SLUICE_ROW_BYTES(SLUICE_GROUP_SPEED));
    CHECK(sluice_admit(1) == -1 && sluice_prioritize(1) == -1 && sluice_speculate(1) == -1 && sluice_events(1) == -1);
}

static void how_it_decides(void) {
    CHECK(!sluice_test_configure("{\"hold_steps\":\"1\",\"floor\":\"12\"}"));
    sluice_state st = answers(1, 16, 90 * SLUICE_MILLISECOND);
    CHECK(sluice_test_batch_cap(&st)->max_seqs == 16);
    st = answers(2, 16, 90 * SLUICE_MILLISECOND);
    CHECK(sluice_test_batch_cap(&st)->max_seqs == 12);
    st = answers(100, 12, 90 * SLUICE_MILLISECOND);
    CHECK(sluice_test_batch_cap(&st)->max_seqs == 12);
    CHECK(strcmp(sluice_test_line, "tpot=50000us is not held even at max_seqs=12: 90000us") == 0);
    CHECK(sluice_test_level == SLUICE_LEVEL_WARN);
}

static void how_it_is_carried_over(void) {
    uint8_t saved[SLUICE_SAVE_ROOM];
    uint32_t n = sluice_test_save();
    memcpy(saved, sluice_memory.saved, n);
    CHECK(n == 13 && saved[0] == 1 && saved[1] == 12);
    cap = 0;
    CHECK(!sluice_test_restore(saved, n));
    CHECK(cap == 12);
    const char *why = sluice_test_restore(saved, n - 1);
    CHECK(why && strcmp(why, "the saved state is not one of tpot-cap's version 1") == 0);
    CHECK(sluice_restore(1 << 20) == -1);
}

static void what_it_refuses(void) {
    const char *why = sluice_test_configure("{\"floor\":\"5\",\"ceiling\":\"4\",\"flor\":\"\"}");
    CHECK(why && strcmp(why, "ceiling must not be below floor; unknown key \"flor\": known are tpot, floor, ceiling, band, increase, decrease, "
                             "hold_steps, settle_steps") == 0);
    why = sluice_test_configure("{");
    CHECK(why && strcmp(why, "the configuration is not a JSON object of strings: no string found at byte 1") == 0);
    CHECK(sluice_configure(1 << 20) == -1);
}

static void how_verdicts_are_made(void) {
    sluice_verdict v = sluice_retry_after(sluice_reject(429, SLUICE_REASON_QUOTA), SLUICE_MILLISECOND + 1);
    CHECK(v.action == SLUICE_ACTION_REJECT && v.status == 429 && v.reason == SLUICE_REASON_QUOTA && v.retry_after_ms == 2);
    CHECK(v.class_override == -1 && v.speculation_cap == -1 && v.has_priority == 0 && v.max_tokens_cap == 0);
    v = sluice_because(sluice_speculation(sluice_max_tokens(sluice_degrade(), 7), -3), SLUICE_REASON_CAPACITY);
    CHECK(v.action == SLUICE_ACTION_DEGRADE && v.max_tokens_cap == 7 && v.speculation_cap == 0 && v.reason == SLUICE_REASON_CAPACITY);
    v = sluice_queue_ttl(sluice_as_priority(sluice_as_class(sluice_admit_it(), 3), -5), INT64_MAX);
    CHECK(v.class_override == 3 && v.priority_override == -5 && v.has_priority == 1 && v.queue_ttl_ms == UINT32_MAX);
}

static void what_it_says(void) {
    sluice_log("%s: %d %u %ld %lld %llu 100%%", "x", -1, 4000000000u, 5L, (long long)INT64_MIN, (unsigned long long)UINT64_MAX);
    CHECK(strcmp(sluice_test_line, "x: -1 4000000000 5 -9223372036854775808 18446744073709551615 100%") == 0);
    char longest[600];
    memset(longest, 'y', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    sluice_debug("%s", longest);
    CHECK(strlen(sluice_test_line) == SLUICE_MAX_LINE && sluice_test_level == SLUICE_LEVEL_DEBUG);
    sluice_metric(31, -7);
    CHECK(sluice_test_metrics[31] == -7);
}

int main(void) {
    what_it_declares();
    how_it_decides();
    how_it_is_carried_over();
    what_it_refuses();
    how_verdicts_are_made();
    what_it_says();
    return sluice_test_result();
}
