// The calls of the ABI, on top of a policy's hooks. Include sluice.h, which includes this.
#ifndef SLUICE_CALLS_H
#define SLUICE_CALLS_H

#ifdef __wasm__
#define SLUICE_EXPORT(name) __attribute__((export_name(#name), visibility("default")))
#define SLUICE_ADDRESS(x) ((uint32_t)(uintptr_t)(x))
#else
#define SLUICE_EXPORT(name)
#define SLUICE_ADDRESS(x) 0
#endif

// What the host takes for a failure: it called for something that the descriptor does not offer.
#define SLUICE_FAULT (-1)

// The memory that the host writes to and reads from.
static struct {
    sluice_state state;
    sluice_row rows[SLUICE_MAX_ROWS];
    sluice_event events[SLUICE_MAX_ROWS];
    union {
        sluice_verdict verdicts[SLUICE_MAX_ROWS];
        sluice_ranking rankings[SLUICE_MAX_ROWS];
        sluice_batch_plan batch;
        struct {
            sluice_spec_plan plan;
            int32_t k[SLUICE_MAX_ROWS];
        } spec;
    } out;
    char config[16 << 10];
    uint8_t saved[SLUICE_SAVE_ROOM];
    sluice_config settings;
} sluice_memory;

static inline uint32_t sluice_reads(const sluice_policy *p) { return p->reads ? p->reads | SLUICE_GROUP_BASIC : 0; }

static inline sluice_rows sluice_shown(const sluice_policy *p, int32_t n) {
    return (sluice_rows){sluice_memory.rows, (uint32_t)n, SLUICE_ROW_BYTES(sluice_reads(p))};
}

// sluice_within reports whether the host's n fits the buffers.
static inline bool sluice_within(int32_t n) { return (uint32_t)n <= SLUICE_MAX_ROWS; }

static inline int32_t sluice_result(bool decided) { return decided ? SLUICE_RETURN_DECIDED : SLUICE_RETURN_ABSTAIN; }

static inline uint32_t sluice_hooks(const sluice_policy *p) {
    return (p->configure ? SLUICE_HOOK_CONFIGURE : 0) | (p->admit ? SLUICE_HOOK_ADMIT : 0) | (p->prioritize ? SLUICE_HOOK_PRIORITIZE : 0) |
           (p->batch_cap ? SLUICE_HOOK_BATCH_CAP : 0) | (p->speculate ? SLUICE_HOOK_SPECULATE : 0) | (p->events ? SLUICE_HOOK_EVENTS : 0) |
           (p->save && p->restore ? SLUICE_HOOK_STATE : 0);
}

static inline const sluice_descriptor *sluice_describe(const sluice_policy *p) {
    static sluice_descriptor d;
    d = (sluice_descriptor){
        .magic = 0x45434c53, // "SLCE"
        .major = SLUICE_MAJOR,
        .minor = SLUICE_MINOR,
        .hooks = sluice_hooks(p),
        .state_ptr = SLUICE_ADDRESS(&sluice_memory.state),
        .state_cap = sizeof sluice_memory.state,
        .rows_ptr = SLUICE_ADDRESS(sluice_memory.rows),
        .rows_cap = sizeof sluice_memory.rows,
        .row_stride = SLUICE_ROW_BYTES(sluice_reads(p)),
        .out_ptr = SLUICE_ADDRESS(&sluice_memory.out),
        .out_cap = sizeof sluice_memory.out,
        .config_ptr = SLUICE_ADDRESS(sluice_memory.config),
        .config_cap = sizeof sluice_memory.config,
        .events_ptr = SLUICE_ADDRESS(sluice_memory.events),
        .events_cap = sizeof sluice_memory.events,
        .reads = sluice_reads(p),
    };
    return &d;
}

static inline int32_t sluice_call_configure(const sluice_policy *p, int32_t n) {
    sluice_config *c = &sluice_memory.settings;
    if (!p->configure || (uint32_t)n > sizeof sluice_memory.config) return SLUICE_FAULT;
    if (sluice_config_parse(c, sluice_memory.config, (uint32_t)n)) p->configure(c);
    const sluice_line *wrong = sluice_config_wrong(c);
    if (wrong->n == 0) return 0;
    sluice_host_log(SLUICE_LEVEL_ERROR, wrong->buf, wrong->n);
    return 1;
}

static inline int32_t sluice_call_admit(const sluice_policy *p, int32_t n) {
    if (!p->admit || !sluice_within(n)) return SLUICE_FAULT;
    for (int32_t i = 0; i < n; i++) sluice_memory.out.verdicts[i] = sluice_abstain();
    p->admit(&sluice_memory.state, sluice_shown(p, n), sluice_memory.out.verdicts);
    return SLUICE_RETURN_DECIDED;
}

static inline int32_t sluice_call_prioritize(const sluice_policy *p, int32_t n) {
    if (!p->prioritize || !sluice_within(n)) return SLUICE_FAULT;
    for (int32_t i = 0; i < n; i++) sluice_memory.out.rankings[i] = (sluice_ranking){0};
    return sluice_result(p->prioritize(&sluice_memory.state, sluice_shown(p, n), sluice_memory.out.rankings));
}

static inline int32_t sluice_call_batch_cap(const sluice_policy *p) {
    if (!p->batch_cap) return SLUICE_FAULT;
    sluice_memory.out.batch = (sluice_batch_plan){0};
    return sluice_result(p->batch_cap(&sluice_memory.state, &sluice_memory.out.batch));
}

static inline int32_t sluice_call_speculate(const sluice_policy *p, int32_t n) {
    if (!p->speculate || !sluice_within(n)) return SLUICE_FAULT;
    sluice_memory.out.spec.plan = (sluice_spec_plan){0};
    for (int32_t i = 0; i < n; i++) sluice_memory.out.spec.k[i] = -1;
    return sluice_result(p->speculate(&sluice_memory.state, sluice_shown(p, n), &sluice_memory.out.spec.plan, sluice_memory.out.spec.k));
}

static inline int32_t sluice_call_events(const sluice_policy *p, int32_t n) {
    if (!p->events || !sluice_within(n)) return SLUICE_FAULT;
    p->events(&sluice_memory.state, sluice_memory.events, (uint32_t)n);
    return SLUICE_RETURN_DECIDED;
}

static inline int64_t sluice_call_save(const sluice_policy *p) {
    uint32_t n = p->save ? p->save(sluice_memory.saved) : 0;
    return n == 0 ? 0 : (int64_t)((uint64_t)SLUICE_ADDRESS(sluice_memory.saved) << 32 | n);
}

static inline int32_t sluice_call_restore(const sluice_policy *p, int32_t n) {
    if (!p->restore || (uint32_t)n > sizeof sluice_memory.config) return SLUICE_FAULT;
    const char *why = p->restore((const uint8_t *)sluice_memory.config, (uint32_t)n);
    if (!why) return SLUICE_RETURN_DECIDED;
    sluice_say(SLUICE_LEVEL_WARN, "%s", why);
    return SLUICE_RETURN_ABSTAIN;
}

// SLUICE_POLICY registers a policy: SLUICE_POLICY(.configure = configure, .admit = admit). Once, at the end of its file.
#define SLUICE_POLICY(...)                                                                                              \
    static const sluice_policy sluice_this = {__VA_ARGS__};                                                             \
    SLUICE_EXPORT(sluice_abi_v1) const sluice_descriptor *sluice_abi_v1(void);                                          \
    SLUICE_EXPORT(sluice_configure) int32_t sluice_configure(int32_t n);                                                \
    SLUICE_EXPORT(sluice_admit) int32_t sluice_admit(int32_t n);                                                        \
    SLUICE_EXPORT(sluice_prioritize) int32_t sluice_prioritize(int32_t n);                                              \
    SLUICE_EXPORT(sluice_batch_cap) int32_t sluice_batch_cap(void);                                                     \
    SLUICE_EXPORT(sluice_speculate) int32_t sluice_speculate(int32_t n);                                                \
    SLUICE_EXPORT(sluice_events) int32_t sluice_events(int32_t n);                                                      \
    SLUICE_EXPORT(sluice_save) int64_t sluice_save(void);                                                               \
    SLUICE_EXPORT(sluice_restore) int32_t sluice_restore(int32_t n);                                                    \
    const sluice_descriptor *sluice_abi_v1(void) { return sluice_describe(&sluice_this); }                              \
    int32_t sluice_configure(int32_t n) { return sluice_call_configure(&sluice_this, n); }                              \
    int32_t sluice_admit(int32_t n) { return sluice_call_admit(&sluice_this, n); }                                      \
    int32_t sluice_prioritize(int32_t n) { return sluice_call_prioritize(&sluice_this, n); }                            \
    int32_t sluice_batch_cap(void) { return sluice_call_batch_cap(&sluice_this); }                                      \
    int32_t sluice_speculate(int32_t n) { return sluice_call_speculate(&sluice_this, n); }                              \
    int32_t sluice_events(int32_t n) { return sluice_call_events(&sluice_this, n); }                                    \
    int64_t sluice_save(void) { return sluice_call_save(&sluice_this); }                                                \
    int32_t sluice_restore(int32_t n) { return sluice_call_restore(&sluice_this, n); }

#ifdef __wasm__
// What a compiler may call for assignments and initialisers. With -mbulk-memory it rarely does. None of them may be turned
// into a call of itself.
#define SLUICE_LIBC __attribute__((weak, visibility("hidden"), no_builtin("memset", "memcpy", "memmove", "memcmp")))

SLUICE_LIBC void *memset(void *to, int c, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)c;
    return to;
}

SLUICE_LIBC void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

SLUICE_LIBC void *memmove(void *to, const void *from, size_t n) {
    if ((uintptr_t)to <= (uintptr_t)from) {
        for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    } else {
        while (n-- > 0) ((char *)to)[n] = ((const char *)from)[n];
    }
    return to;
}

SLUICE_LIBC int memcmp(const void *a, const void *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int d = ((const uint8_t *)a)[i] - ((const uint8_t *)b)[i];
        if (d != 0) return d;
    }
    return 0;
}
#endif

#endif
