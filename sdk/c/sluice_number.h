// The text forms of configuration values: integers from end to end. Include sluice.h, which includes this.
#ifndef SLUICE_NUMBER_H
#define SLUICE_NUMBER_H

#include "sluice_text.h"

// Durations in nanoseconds, the unit of every time in sluice_state and sluice_row.
#define SLUICE_MILLISECOND INT64_C(1000000)
#define SLUICE_SECOND (1000 * SLUICE_MILLISECOND)
#define SLUICE_MINUTE (60 * SLUICE_SECOND)
#define SLUICE_HOUR (60 * SLUICE_MINUTE)

// The ratio 1.0 in parts per million.
#define SLUICE_ONE INT64_C(1000000)

static const struct {
    char name[3];
    int64_t ns;
} sluice_units[] = {{"h", SLUICE_HOUR}, {"m", SLUICE_MINUTE}, {"s", SLUICE_SECOND}, {"ms", SLUICE_MILLISECOND}, {"us", 1000}, {"ns", 1}};

// sluice_leading reads the digits that s begins with, and leaves the rest in s.
SLUICE_FN bool sluice_leading(sluice_span *s, int64_t *x) {
    uint32_t i = 0;
    *x = 0;
    for (; i < s->n && s->at[i] >= '0' && s->at[i] <= '9'; i++) {
        int64_t d = s->at[i] - '0';
        if (*x > (INT64_MAX - d) / 10) return false;
        *x = *x * 10 + d;
    }
    s->at += i;
    s->n -= i;
    return i > 0;
}

// sluice_decimal reads a decimal such as 1.25 and gives it times unit, cut off below 1.
SLUICE_FN bool sluice_decimal(sluice_span s, int64_t unit, int64_t *x) {
    int64_t whole;
    if (!sluice_leading(&s, &whole) || unit <= 0 || whole > INT64_MAX / unit) return false;
    *x = whole * unit;
    if (s.n == 0) return true;
    if (s.at[0] != '.' || s.n == 1) return false;
    // Each digit has a tenth of the unit's remaining part, so that nothing overflows. What divides no further is dropped.
    uint64_t sum = (uint64_t)*x;
    for (uint32_t i = 1; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9') return false;
        unit /= 10;
        sum += (uint64_t)(s.at[i] - '0') * (uint64_t)unit;
    }
    *x = (int64_t)sum;
    return sum <= INT64_MAX;
}

SLUICE_FN bool sluice_parse_int(sluice_span s, int64_t *x) {
    bool negative = s.n > 0 && s.at[0] == '-';
    if (negative) s.at++, s.n--;
    if (!sluice_leading(&s, x) || s.n > 0) return false;
    if (negative) *x = -*x;
    return true;
}

// sluice_part splits one number and its unit off a duration.
SLUICE_FN bool sluice_part(sluice_span *s, int64_t *x) {
    uint32_t n = 0, u;
    while (n < s->n && (s->at[n] == '.' || (s->at[n] >= '0' && s->at[n] <= '9'))) n++;
    for (u = n; u < s->n && s->at[u] >= 'a' && s->at[u] <= 'z';) u++;
    int64_t ns = 0;
    for (uint32_t i = 0; i < 6; i++) {
        const char *name = sluice_units[i].name;
        uint32_t length = name[1] ? 2 : 1;
        if (u - n == length && s->at[n] == name[0] && s->at[u - 1] == name[length - 1]) ns = sluice_units[i].ns;
    }
    bool ok = ns != 0 && sluice_decimal((sluice_span){s->at, n}, ns, x);
    s->at += u;
    s->n -= u;
    return ok;
}

SLUICE_FN bool sluice_parse_duration(sluice_span s, int64_t *x) {
    *x = 0;
    if (s.n == 1 && s.at[0] == '0') return true;
    if (s.n == 0) return false;
    while (s.n > 0) {
        int64_t part;
        if (!sluice_part(&s, &part) || *x > INT64_MAX - part) return false;
        *x += part;
    }
    return true;
}

SLUICE_FN bool sluice_parse_ratio(sluice_span s, int64_t *x) {
    if (s.n == 0 || s.at[s.n - 1] != '%') return sluice_decimal(s, SLUICE_ONE, x);
    s.n--;
    return sluice_decimal(s, SLUICE_ONE / 100, x);
}

// sluice_format_duration uses the largest unit that leaves a whole number.
SLUICE_FN void sluice_format_duration(sluice_line *l, int64_t ns) {
    for (uint32_t i = 0; i < 6; i++) {
        if (ns != 0 && ns % sluice_units[i].ns == 0) {
            sluice_line_signed(l, ns / sluice_units[i].ns);
            sluice_line_text(l, sluice_units[i].name);
            return;
        }
    }
    sluice_line_signed(l, ns);
}

SLUICE_FN void sluice_format_ratio(sluice_line *l, int64_t ppm) {
    sluice_line_signed(l, ppm / SLUICE_ONE);
    int64_t rest = ppm % SLUICE_ONE;
    if (rest <= 0) return;
    sluice_line_byte(l, '.');
    for (int64_t unit = SLUICE_ONE / 10; rest > 0; unit /= 10) {
        sluice_line_byte(l, (char)('0' + rest / unit));
        rest %= unit;
    }
}

// sluice_kind is how a number is written.
typedef struct sluice_kind {
    bool (*parse)(sluice_span, int64_t *);
    void (*format)(sluice_line *, int64_t);
    const char *why; // it is none
} sluice_kind;

static const sluice_kind sluice_int = {sluice_parse_int, sluice_line_signed, "not a whole number"};
static const sluice_kind sluice_duration = {sluice_parse_duration, sluice_format_duration, "not a duration: write it like 2s, 500ms or 1m30s"};
static const sluice_kind sluice_ratio = {sluice_parse_ratio, sluice_format_ratio, "not a ratio: write it like 0.9 or 90%"};

#endif
