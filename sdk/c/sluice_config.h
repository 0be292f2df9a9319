// A policy's configuration: values by key, all of them strings until a getter reads them. Include sluice.h, which includes this.
//
// Every getter names a key and its default, and remembers both: what no getter named is an unknown key. A value that cannot
// be read gives the default and is remembered as an error, so that a configure function needs no error handling of its own.
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H

#include "sluice_json.h"
#include "sluice_number.h"
#include "sluice_text.h"

// The most settings that a policy can have.
#define SLUICE_MAX_SETTINGS 64

// sluice_config is what a configure function is given.
typedef struct sluice_config {
    sluice_json json;
    struct {
        const char *key;
        bool by_class; // KEY.<class>
    } known[SLUICE_MAX_SETTINGS];
    uint32_t known_n;
    sluice_line wrong; // what the getters have found
} sluice_config;

SLUICE_FN bool sluice_same(sluice_span a, const char *b) {
    uint32_t i = 0;
    while (i < a.n && b[i] && a.at[i] == b[i]) i++;
    return i == a.n && !b[i];
}

// sluice_lookup finds a key's value and marks it as known; NULL for none.
SLUICE_FN const sluice_span *sluice_lookup(sluice_config *c, const char *key) {
    for (uint32_t i = 0; i < c->json.n; i++) {
        sluice_entry *e = &c->json.entries[i];
        if (sluice_same(e->key, key)) {
            e->used = true;
            return &e->value;
        }
    }
    return NULL;
}

// sluice_name puts a key into the list that an unknown one is answered with.
SLUICE_FN void sluice_name(sluice_config *c, const char *key, bool by_class) {
    sluice_span all = {key, 0};
    while (key[all.n]) all.n++;
    for (uint32_t i = 0; i < c->known_n; i++) {
        if (c->known[i].by_class == by_class && sluice_same(all, c->known[i].key)) return;
    }
    if (c->known_n == SLUICE_MAX_SETTINGS) __builtin_trap();
    c->known[c->known_n].key = key;
    c->known[c->known_n++].by_class = by_class;
}

// sluice_next_wrong begins the next of the things that are wrong.
SLUICE_FN sluice_line *sluice_next_wrong(sluice_config *c) {
    if (c->wrong.n > 0) sluice_line_text(&c->wrong, "; ");
    return &c->wrong;
}

// sluice_refuse has the configuration refused for a reason that only the policy knows.
SLUICE_FN void sluice_refuse(sluice_config *c, const char *why) { sluice_line_text(sluice_next_wrong(c), why); }

SLUICE_FN sluice_line *sluice_bad(sluice_config *c, const char *key, sluice_span value) {
    sluice_line *l = sluice_next_wrong(c);
    sluice_line_text(l, key);
    sluice_line_byte(l, '=');
    sluice_line_quoted(l, value);
    sluice_line_text(l, ": ");
    return l;
}

// sluice_get_string is a key's text, or def when it is not set.
SLUICE_FN sluice_span sluice_get_string(sluice_config *c, const char *key, const char *def) {
    sluice_name(c, key, false);
    const sluice_span *v = sluice_lookup(c, key);
    if (v) return *v;
    sluice_span s = {def, 0};
    while (def[s.n]) s.n++;
    return s;
}

// sluice_get_one_of is the place of a key's text among n allowed ones; the first of them is the default.
SLUICE_FN uint32_t sluice_get_one_of(sluice_config *c, const char *key, const char *const *allowed, uint32_t n) {
    sluice_name(c, key, false);
    const sluice_span *v = sluice_lookup(c, key);
    if (!v) return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (sluice_same(*v, allowed[i])) return i;
    }
    sluice_line *l = sluice_bad(c, key, *v);
    sluice_line_text(l, "must be one of ");
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) sluice_line_text(l, ", ");
        sluice_line_text(l, allowed[i]);
    }
    return 0;
}

// sluice_get_bool is true, on, yes or 1, or false, off, no or 0.
SLUICE_FN bool sluice_get_bool(sluice_config *c, const char *key, bool def) {
    static const char *const words[] = {"true", "on", "yes", "1", "false", "off", "no", "0"};
    sluice_name(c, key, false);
    const sluice_span *v = sluice_lookup(c, key);
    if (!v) return def;
    for (uint32_t i = 0; i < 8; i++) {
        if (sluice_same(*v, words[i])) return i < 4;
    }
    sluice_line_text(sluice_bad(c, key, *v), "must be true or false");
    return def;
}

SLUICE_FN int64_t sluice_read(sluice_config *c, const char *key, int64_t def, const sluice_kind *kind, int64_t least, int64_t most) {
    const sluice_span *v = sluice_lookup(c, key);
    if (!v) return def;
    int64_t x = 0;
    if (!kind->parse(*v, &x)) {
        sluice_line_text(sluice_bad(c, key, *v), kind->why);
        return def;
    }
    if (x >= least && x <= most) return x;
    sluice_line *l = sluice_bad(c, key, *v);
    sluice_line_text(l, "must be from ");
    kind->format(l, least);
    sluice_line_text(l, " to ");
    kind->format(l, most);
    return def;
}

SLUICE_FN int64_t sluice_get(sluice_config *c, const char *key, int64_t def, const sluice_kind *kind, int64_t least, int64_t most) {
    sluice_name(c, key, false);
    return sluice_read(c, key, def, kind, least, most);
}

// sluice_get_int is a whole number from least to most: "8".
SLUICE_FN int64_t sluice_get_int(sluice_config *c, const char *key, int64_t def, int64_t least, int64_t most) {
    return sluice_get(c, key, def, &sluice_int, least, most);
}

// sluice_get_duration is a time in ns from least to most, written with a unit: "2s", "500ms", "1m30s". A bare 0 is allowed.
SLUICE_FN int64_t sluice_get_duration(sluice_config *c, const char *key, int64_t def, int64_t least, int64_t most) {
    return sluice_get(c, key, def, &sluice_duration, least, most);
}

// sluice_get_ratio is a ratio in ppm from least to most, written as a decimal or in per cent: "0.9", "90%".
SLUICE_FN int64_t sluice_get_ratio(sluice_config *c, const char *key, int64_t def, int64_t least, int64_t most) {
    return sluice_get(c, key, def, &sluice_ratio, least, most);
}

// sluice_get_class_durations is a duration for each class: KEY for all of them, and KEY.0 to KEY.15 for single ones. A key has
// at most 500 bytes.
SLUICE_FN void sluice_get_class_durations(sluice_config *c, const char *key, int64_t def, int64_t least, int64_t most, int64_t all[16]) {
    def = sluice_get_duration(c, key, def, least, most);
    sluice_name(c, key, true);
    sluice_line name;
    for (uint32_t i = 0; i < 16; i++) {
        name.n = 0;
        sluice_line_text(&name, key);
        sluice_line_byte(&name, '.');
        sluice_line_unsigned(&name, i);
        sluice_line_byte(&name, 0);
        all[i] = sluice_read(c, name.buf, def, &sluice_duration, least, most);
    }
}

SLUICE_FN void sluice_unknown(const sluice_config *c, sluice_line *l, sluice_span key) {
    sluice_line_text(l, "unknown key ");
    sluice_line_quoted(l, key);
    if (c->known_n == 0) sluice_line_text(l, ": the policy has no settings");
    for (uint32_t i = 0; i < c->known_n; i++) {
        sluice_line_text(l, i == 0 ? ": known are " : ", ");
        sluice_line_text(l, c->known[i].key);
        if (c->known[i].by_class) sluice_line_text(l, ".<class>");
    }
}

// sluice_config_wrong is all that is wrong, on one line; empty for nothing. It is to be called once, after the getters.
SLUICE_FN const sluice_line *sluice_config_wrong(sluice_config *c) {
    for (uint32_t i = 0; i < c->json.n; i++) {
        if (!c->json.entries[i].used) sluice_unknown(c, sluice_next_wrong(c), c->json.entries[i].key);
    }
    return &c->wrong;
}

// sluice_config_parse reads what the host writes, a JSON object whose values are strings. It decodes in place: text must
// outlive c. Where it fails, sluice_config_wrong says why.
SLUICE_FN bool sluice_config_parse(sluice_config *c, char *text, uint32_t n) {
    c->known_n = c->wrong.n = 0;
    uint32_t at = 0;
    const char *why = sluice_json_parse(&c->json, text, n, &at);
    if (!why) return true;
    sluice_line_text(&c->wrong, "the configuration is not a JSON object of strings: ");
    sluice_line_text(&c->wrong, why);
    sluice_line_text(&c->wrong, " at byte ");
    sluice_line_unsigned(&c->wrong, at);
    c->json.n = 0;
    return false;
}

#endif
