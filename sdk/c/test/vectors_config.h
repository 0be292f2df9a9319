// The part of vectors.c that reads sdk/vectors/config.txt.

static sluice_config config;
static char json[1 << 16];
static bool parsed;

// decode undoes %HH in place and returns the length.
static size_t decode(char *s) {
    size_t n = 0;
    for (; *s && *s != '\n'; n++) {
        unsigned byte = (unsigned char)*s;
        if (*s == '%') {
            sscanf(s + 1, "%2x", &byte);
            memmove(s + 1, s + 3, strlen(s + 3) + 1);
        }
        *s++ = (char)byte;
    }
    *s = 0;
    return n;
}

static size_t field_size; // of the last field, which may hold zeros

// field splits the next field off, up to a space, and decodes it.
static char *field(char **rest) {
    char *f = *rest, *end = strchr(f, ' ');
    if (end) {
        *end = 0;
        *rest = end + 1;
    } else {
        *rest = f + strlen(f);
    }
    field_size = decode(f);
    return f;
}

static void expect_text(const char *what, sluice_span got, const char *want, size_t n) {
    if (got.n == n && memcmp(got.at, want, n) == 0) return;
    sluice_test_failed++;
    fprintf(stderr, "line %d: %s is\n%.*s, not\n%s\n", line_number, what, (int)got.n, got.at, want);
}

static void get_one_of(const char *key, char *rest) {
    const char *allowed[16];
    uint32_t n = 0;
    for (char *f = field(&rest); strcmp(f, ":") != 0; f = field(&rest)) allowed[n++] = f;
    uint32_t got = sluice_get_one_of(&config, key, allowed, n);
    const char *want = field(&rest);
    expect_text("one of", (sluice_span){allowed[got], (uint32_t)strlen(allowed[got])}, want, field_size);
}

static int64_t number(char **rest) { return strtoll(field(rest), NULL, 10); }

static void get_classes(const char *key, int64_t def, int64_t least, int64_t most, char *rest) {
    int64_t all[16];
    sluice_get_class_durations(&config, key, def, least, most, all);
    for (int i = 0; i < 16; i++) expect(__LINE__, "class duration", all[i], number(&rest));
}

static void get_number(const char *kind, const char *key, char *rest) {
    int64_t def = number(&rest), least = number(&rest), most = number(&rest);
    field(&rest); // the colon
    if (strcmp(kind, "class_durations") == 0) {
        get_classes(key, def, least, most, rest);
    } else if (strcmp(kind, "int") == 0) {
        EXPECT(sluice_get_int(&config, key, def, least, most), number(&rest));
    } else if (strcmp(kind, "duration") == 0) {
        EXPECT(sluice_get_duration(&config, key, def, least, most), number(&rest));
    } else {
        EXPECT(sluice_get_ratio(&config, key, def, least, most), number(&rest));
    }
}

// Keys must outlive a configuration; the lines do not.
static const char *keep(const char *key) {
    static char kept[64][32];
    static uint32_t n;
    n = (n + 1) % 64;
    snprintf(kept[n], sizeof kept[n], "%s", key);
    return kept[n];
}

static void check_get(char *rest) {
    rest[strcspn(rest, "\n")] = 0;
    const char *kind = field(&rest), *key = keep(field(&rest));
    if (strcmp(kind, "string") == 0) {
        const char *def = field(&rest);
        field(&rest);
        sluice_span got = sluice_get_string(&config, key, def);
        const char *want = field(&rest);
        expect_text("string", got, want, field_size);
    } else if (strcmp(kind, "bool") == 0) {
        bool def = number(&rest) != 0;
        field(&rest);
        EXPECT(sluice_get_bool(&config, key, def), number(&rest));
    } else if (strcmp(kind, "one_of") == 0) {
        get_one_of(key, rest);
    } else {
        get_number(kind, key, rest);
    }
}

static void check_config(char *line) {
    char *rest = line + strcspn(line, " \n");
    if (*rest == ' ') *rest++ = 0;
    rest[strcspn(rest, "\n")] = 0;
    if (strncmp(line, "json", 4) == 0) {
        size_t n = decode(rest);
        memcpy(json, rest, n);
        parsed = sluice_config_parse(&config, json, (uint32_t)n);
    } else if (strcmp(line, "get") == 0) {
        CHECK(parsed);
        check_get(rest);
    } else if (strcmp(line, "refuse") == 0) {
        decode(rest);
        sluice_refuse(&config, rest);
    } else if (strncmp(line, "err", 3) == 0) {
        char want[1024];
        size_t n = decode(rest);
        memcpy(want, rest, n);
        const sluice_line *wrong = sluice_config_wrong(&config);
        expect_text("what is wrong", (sluice_span){wrong->buf, wrong->n}, want, n);
    } else {
        CHECK(!"unknown word");
    }
}
