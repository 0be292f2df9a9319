// Checks the SDK against sdk/vectors, which every SDK must reproduce: vectors HELPERS CONFIG.
#include <errno.h>
#include <stdlib.h>

#include "../sluice_test.h"

static void nothing(const sluice_state *st, const sluice_event *events, uint32_t n) { (void)st, (void)events, (void)n; }

SLUICE_POLICY(.events = nothing)

static int line_number;
static char *cursor;

#define EXPECT(got, want) expect(__LINE__, #got, got, want)

static void expect(int where, const char *what, int64_t got, int64_t want) {
    if (got == want) return;
    sluice_test_failed++;
    fprintf(stderr, "line %d (vectors.c:%d): %s is %lld, not %lld\n", line_number, where, what, (long long)got, (long long)want);
}

static int64_t next(void) {
    char *end;
    errno = 0;
    int64_t x = strtoll(cursor, &end, 10);
    if (end == cursor || errno) {
        fprintf(stderr, "line %d: no integer at %.20s\n", line_number, cursor);
        exit(2);
    }
    cursor = end;
    return x;
}

static void ewma(void) {
    sluice_ewma e = {.shift = (uint8_t)next()};
    for (int64_t n = next(); n > 0; n--) {
        sluice_ewma_add(&e, next());
        EXPECT(sluice_ewma_value(&e), next());
    }
}

static void hysteresis(void) {
    int64_t above = next(), below = next(), hold = next();
    sluice_hysteresis h = {.above = above, .below = below, .hold = hold};
    for (int64_t n = next(); n > 0; n--) {
        int64_t at = next(), value = next();
        EXPECT(sluice_hysteresis_update(&h, at, value), next());
    }
}

static void window(void) {
    int64_t width = next(), buckets = next();
    sluice_window w = {.width = width, .buckets = (uint8_t)buckets};
    for (int64_t n = next(); n > 0; n--) {
        int64_t now = next(), op = next(), x = next();
        if (op == 1) sluice_window_add(&w, now, x);
        if (op == 2) sluice_window_reset(&w);
        EXPECT(sluice_window_sum(&w, now), next());
        EXPECT(sluice_window_rate(&w, now), next());
    }
}

static void token_bucket(void) {
    int64_t rate = next(), burst = next();
    sluice_token_bucket b = {.rate = rate, .burst = burst};
    for (int64_t n = next(); n > 0; n--) {
        int64_t now = next(), op = next(), x = next(), wait = 0;
        if (op == 0) wait = sluice_bucket_take(&b, now, x);
        if (op == 1) sluice_bucket_give(&b, now, x);
        if (op == 2) sluice_bucket_reset(&b);
        EXPECT(wait == 0, next());
        EXPECT(wait, next());
        EXPECT(sluice_bucket_level(&b, now), next());
    }
}

static void pid(void) {
    int64_t kp = next(), ki = next(), kd = next(), shift = next(), low = next(), high = next();
    sluice_pid c = {.kp = kp, .ki = ki, .kd = kd, .shift = (uint8_t)shift, .low = low, .high = high};
    for (int64_t n = next(); n > 0; n--) {
        int64_t op = next(), x = next();
        if (op == 1) {
            sluice_pid_reset(&c, x);
            x = 0;
        }
        EXPECT(sluice_pid_update(&c, x), next());
    }
}

static int64_t place_of(sluice_tenant_table *x, uint64_t id) {
    for (uint32_t i = 0; i < x->used; i++) {
        if (sluice_tenant_at(x, i)->id == id) return i;
    }
    return -1;
}

static void tenant_table(void) {
    static sluice_tenant_table x;
    memset(&x, 0, sizeof x);
    x.size = (uint16_t)next();
    for (int64_t n = next(); n > 0; n--) {
        int64_t op = next();
        uint64_t id = (uint64_t)next();
        int64_t v = next();
        if (op == 1) sluice_tenant_get(&x, id)->served += v;
        if (op == 2) sluice_tenant_get(&x, id)->inflight += v;
        if (op == 3) sluice_tenant_get(&x, id)->weight = v;
        const sluice_tenant *t = sluice_tenant_find(&x, id), none = {0};
        EXPECT(t != NULL, next());
        if (!t) t = &none;
        EXPECT(t->served, next());
        EXPECT(t->inflight, next());
        EXPECT(t->weight, next());
        EXPECT(place_of(&x, id), next());
        EXPECT(x.used, next());
        EXPECT(sluice_tenant_weights(&x), next());
    }
}

static void fair_share(void) {
    for (int64_t n = next(); n > 0; n--) {
        int64_t total = next(), weight = next(), weights = next();
        EXPECT(sluice_fair_share(total, weight, weights), next());
    }
}

static const struct {
    const char *name;
    void (*check)(void);
} helpers[] = {{"ewma", ewma}, {"hysteresis", hysteresis},     {"window", window},        {"token_bucket", token_bucket},
               {"pid", pid},   {"tenant_table", tenant_table}, {"fair_share", fair_share}};

static void check_helper(char *line) {
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++) {
        size_t n = strlen(helpers[i].name);
        if (strncmp(line, helpers[i].name, n) != 0 || line[n] != ' ') continue;
        cursor = line + n;
        helpers[i].check();
        while (*cursor == ' ' || *cursor == '\n') cursor++;
        if (*cursor) expect(__LINE__, "what is left of the line", *cursor, 0);
        return;
    }
    fprintf(stderr, "line %d: unknown helper\n", line_number);
    sluice_test_failed++;
}

#include "vectors_config.h"

static void each_line(const char *file, void (*check)(char *)) {
    static char line[1 << 20];
    FILE *f = fopen(file, "r");
    if (!f) {
        perror(file);
        exit(2);
    }
    int checked = 0;
    for (line_number = 1; fgets(line, sizeof line, f); line_number++) {
        if (line[0] == '#') continue;
        check(line);
        checked++;
    }
    fclose(f);
    printf("%s: %d lines\n", file, checked);
    CHECK(checked > 100);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    each_line(argv[1], check_helper);
    each_line(argv[2], check_config);
    return sluice_test_result();
}
