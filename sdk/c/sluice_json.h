// The one form of JSON that the host writes: a flat object whose values are strings. Include sluice.h, which includes this.
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include "sluice_text.h"

// The most keys of a configuration.
#define SLUICE_MAX_KEYS 256

typedef struct sluice_entry {
    sluice_span key, value;
    bool used;
} sluice_entry;

typedef struct sluice_json {
    sluice_entry entries[SLUICE_MAX_KEYS];
    uint32_t n;

    char *in;
    uint32_t size, pos;
} sluice_json;

SLUICE_FN uint32_t sluice_json_skip(sluice_json *p) {
    while (p->pos < p->size && (p->in[p->pos] == ' ' || p->in[p->pos] == '\t' || p->in[p->pos] == '\n' || p->in[p->pos] == '\r')) p->pos++;
    return p->pos;
}

SLUICE_FN bool sluice_json_take(sluice_json *p, char c) {
    if (sluice_json_skip(p) == p->size || p->in[p->pos] != c) return false;
    p->pos++;
    return true;
}

// sluice_utf8 reports whether all of s is UTF-8, without surrogates and without detours.
SLUICE_FN bool sluice_utf8(const uint8_t *s, uint32_t n) {
    for (uint32_t i = 0; i < n;) {
        uint8_t c = s[i++];
        if (c < 0x80) continue;
        uint32_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        uint8_t low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80; // of the second byte
        uint8_t high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        if (c < 0xc2 || c > 0xf4 || n - i < more || s[i] < low || s[i] > high) return false;
        for (uint32_t k = 1; k < more; k++) {
            if ((s[i + k] & 0xc0) != 0x80) return false;
        }
        i += more;
    }
    return true;
}

SLUICE_FN bool sluice_json_hex4(sluice_json *p, uint32_t *r) {
    if (p->size - p->pos < 4) return false;
    *r = 0;
    for (uint32_t i = 0; i < 4; i++) {
        char c = p->in[p->pos + i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16) return false;
        *r = *r << 4 | digit;
    }
    p->pos += 4;
    return true;
}

// sluice_json_unicode reads four hexadecimal digits, and a second escape when they are the first half of a surrogate pair.
SLUICE_FN bool sluice_json_unicode(sluice_json *p, uint32_t *r) {
    if (!sluice_json_hex4(p, r)) return false;
    if (*r < 0xd800 || *r > 0xdfff) return true;
    if (*r > 0xdbff || p->size - p->pos < 2 || p->in[p->pos] != '\\' || p->in[p->pos + 1] != 'u') return false;
    p->pos += 2;
    uint32_t low = 0;
    if (!sluice_json_hex4(p, &low) || low < 0xdc00 || low > 0xdfff) return false;
    *r = 0x10000 + ((*r - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

// sluice_json_escape reads what follows a backslash.
SLUICE_FN bool sluice_json_escape(sluice_json *p, uint32_t *r) {
    if (p->pos == p->size) return false;
    switch (p->in[p->pos++]) {
    case '"': *r = '"'; return true;
    case '\\': *r = '\\'; return true;
    case '/': *r = '/'; return true;
    case 'b': *r = '\b'; return true;
    case 'f': *r = '\f'; return true;
    case 'n': *r = '\n'; return true;
    case 'r': *r = '\r'; return true;
    case 't': *r = '\t'; return true;
    case 'u': return sluice_json_unicode(p, r);
    }
    return false;
}

// sluice_json_put writes a character as UTF-8, which is never longer than its escape, and returns its end.
SLUICE_FN uint32_t sluice_json_put(char *to, uint32_t at, uint32_t r) {
    uint32_t more = r < 0x80 ? 0 : r < 0x800 ? 1 : r < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[at++] = (char)(lead[more] | r >> (6 * more));
    while (more-- > 0) to[at++] = (char)(0x80 | (r >> (6 * more) & 0x3f));
    return at;
}

// sluice_json_string decodes a string in place and returns what is wrong with it; NULL for nothing.
SLUICE_FN const char *sluice_json_string(sluice_json *p, sluice_span *s) {
    if (!sluice_json_take(p, '"')) return "no string found";
    uint32_t begin = p->pos, end = p->pos;
    while (p->pos < p->size) {
        char c = p->in[p->pos];
        if (c == '"') {
            p->pos++;
            s->at = p->in + begin;
            s->n = end - begin;
            return sluice_utf8((const uint8_t *)s->at, s->n) ? NULL : "a string that is not UTF-8 ends";
        }
        if ((uint8_t)c < ' ') return "a control character stands";
        p->pos++;
        if (c == '\\') {
            uint32_t r = 0;
            if (!sluice_json_escape(p, &r)) return "a wrong escape ends";
            end = sluice_json_put(p->in, end, r);
        } else {
            p->in[end++] = c;
        }
    }
    return "a string does not end";
}

SLUICE_FN bool sluice_span_equal(sluice_span a, sluice_span b) {
    if (a.n != b.n) return false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (a.at[i] != b.at[i]) return false;
    }
    return true;
}

SLUICE_FN const char *sluice_json_object(sluice_json *p) {
    if (!sluice_json_take(p, '{')) return "no { found";
    if (sluice_json_take(p, '}')) return NULL;
    for (;;) {
        sluice_entry e = {{NULL, 0}, {NULL, 0}, false};
        const char *why = sluice_json_string(p, &e.key);
        if (why) return why;
        if (!sluice_json_take(p, ':')) return "no : found";
        if ((why = sluice_json_string(p, &e.value))) return why;
        for (uint32_t i = 0; i < p->n; i++) {
            if (sluice_span_equal(p->entries[i].key, e.key)) return "a key stands there twice";
        }
        if (p->n == SLUICE_MAX_KEYS) return "too many keys";
        p->entries[p->n++] = e;
        if (sluice_json_take(p, '}')) return NULL;
        if (!sluice_json_take(p, ',')) return "no , or } found";
    }
}

// sluice_json_parse returns what is wrong, and at which byte; NULL for nothing.
SLUICE_FN const char *sluice_json_parse(sluice_json *p, char *text, uint32_t n, uint32_t *at) {
    p->n = p->pos = 0;
    p->in = text;
    p->size = n;
    const char *why = sluice_json_object(p);
    if (!why && sluice_json_skip(p) < n) why = "something follows the object";
    *at = p->pos;
    return why;
}

#endif
