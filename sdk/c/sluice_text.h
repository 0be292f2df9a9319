// Log lines and the text that errors are made of. Include sluice.h, which includes this.
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

// Functions that no hook needs in a hurry: they are kept out of line and small.
#define SLUICE_FN __attribute__((noinline, cold, unused)) static

// How much a log line matters.
enum {
    SLUICE_LEVEL_DEBUG = -1,
    SLUICE_LEVEL_INFO = 0,
    SLUICE_LEVEL_WARN = 1,
    SLUICE_LEVEL_ERROR = 2,
};

// The longest line that the host takes, in bytes.
#define SLUICE_MAX_LINE 512

#ifdef __wasm__
__attribute__((import_module("sluice"), import_name("log"))) void sluice_host_log(int32_t level, const char *text, uint32_t size);
__attribute__((import_module("sluice"), import_name("metric"))) void sluice_host_metric(uint32_t id, int64_t value);
#else // sluice_test.h is the host
void sluice_host_log(int32_t level, const char *text, uint32_t size);
void sluice_host_metric(uint32_t id, int64_t value);
#endif

// sluice_span is bytes that need not end with 0.
typedef struct sluice_span {
    const char *at;
    uint32_t n;
} sluice_span;

// sluice_line gathers a line. What does not fit is cut off.
typedef struct sluice_line {
    char buf[SLUICE_MAX_LINE];
    uint32_t n;
} sluice_line;

SLUICE_FN void sluice_line_byte(sluice_line *l, char c) {
    if (l->n < SLUICE_MAX_LINE) l->buf[l->n++] = c;
}

SLUICE_FN void sluice_line_span(sluice_line *l, sluice_span s) {
    for (uint32_t i = 0; i < s.n; i++) sluice_line_byte(l, s.at[i]);
}

SLUICE_FN void sluice_line_text(sluice_line *l, const char *s) {
    while (*s) sluice_line_byte(l, *s++);
}

SLUICE_FN void sluice_line_quoted(sluice_line *l, sluice_span s) {
    sluice_line_byte(l, '"');
    for (uint32_t i = 0; i < s.n; i++) {
        if (s.at[i] == '"' || s.at[i] == '\\') sluice_line_byte(l, '\\');
        sluice_line_byte(l, s.at[i]);
    }
    sluice_line_byte(l, '"');
}

SLUICE_FN void sluice_line_unsigned(sluice_line *l, uint64_t x) {
    char digits[20];
    int n = 0;
    do digits[n++] = (char)('0' + x % 10);
    while (x /= 10);
    while (n > 0) sluice_line_byte(l, digits[--n]);
}

SLUICE_FN void sluice_line_signed(sluice_line *l, int64_t x) {
    if (x < 0) sluice_line_byte(l, '-');
    sluice_line_unsigned(l, x < 0 ? -(uint64_t)x : (uint64_t)x);
}

// sluice_line_verb writes one argument of sluice_line_format and returns the end of the verb.
SLUICE_FN const char *sluice_line_verb(sluice_line *l, const char *f, va_list *args) {
    int longs = 0;
    while (*f == 'l') longs++, f++;
    switch (*f) {
    case 's': sluice_line_text(l, va_arg(*args, const char *)); break;
    case 'd': sluice_line_signed(l, longs == 0 ? va_arg(*args, int) : longs == 1 ? va_arg(*args, long) : va_arg(*args, long long)); break;
    case 'u':
        sluice_line_unsigned(l, longs == 0   ? va_arg(*args, unsigned)
                                : longs == 1 ? va_arg(*args, unsigned long)
                                             : va_arg(*args, unsigned long long));
        break;
    case '%': sluice_line_byte(l, '%'); break;
    default: sluice_line_text(l, "%!(UNSUPPORTED)"); return f;
    }
    return f + 1;
}

SLUICE_FN void sluice_line_format(sluice_line *l, const char *f, va_list *args) {
    while (*f) {
        if (*f == '%' && f[1]) {
            f = sluice_line_verb(l, f + 1, args);
        } else {
            sluice_line_byte(l, *f++);
        }
    }
}

// sluice_say writes a line to the server's log. The host lets a few lines a second pass and counts the rest. It knows the
// verbs %s, %d, %u, the last two with l and ll, and %%.
__attribute__((format(printf, 2, 3))) SLUICE_FN void sluice_say(int32_t level, const char *format, ...) {
    sluice_line l;
    l.n = 0;
    va_list args;
    va_start(args, format);
    sluice_line_format(&l, format, &args);
    va_end(args);
    sluice_host_log(level, l.buf, l.n);
}

#define sluice_debug(...) sluice_say(SLUICE_LEVEL_DEBUG, __VA_ARGS__)
#define sluice_log(...) sluice_say(SLUICE_LEVEL_INFO, __VA_ARGS__)
#define sluice_warn(...) sluice_say(SLUICE_LEVEL_WARN, __VA_ARGS__)

// sluice_metric publishes a number under an id from 0 to 31; `sluice policy ls --json` and the metrics page show the last one.
SLUICE_FN void sluice_metric(uint32_t id, int64_t value) { sluice_host_metric(id, value); }

#endif
