/* rig.h - shared by the allocator tests: a device with an allocator on it,
 * checks that report what failed, and dumps of the whole state.
 *
 * Header only, for cmocka programs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <larder/device.h>
#include <larder/larder.h>
#include <larder/sim.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

/* ---- results ------------------------------------------------------------- */

static inline void rig_result(larder_result got, larder_result want,
                              const char *call, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s:%d: %s gave %s, expected %s; last error: %s\n", file, line,
                call, larder_result_name(got), larder_result_name(want),
                larder_last_error());
    _fail(file, line);
}

#define assert_result(want, call)                                              \
    rig_result((call), (want), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_result(LARDER_OK, call)

/* The last error contains these words. */
static inline void rig_words(const char *words, const char *file, int line)
{
    if (strstr(larder_last_error(), words) != NULL)
        return;
    print_error("%s:%d: '%s' is not in the last error: %s\n", file, line, words,
                larder_last_error());
    _fail(file, line);
}

#define assert_words(words) rig_words((words), __FILE__, __LINE__)

/* The call fails with this result, and the message contains the words. */
#define assert_refused(want, call, words)                                      \
    do {                                                                       \
        assert_result(want, call);                                             \
        assert_words(words);                                                   \
    } while (0)

/* ---- a device and an allocator ------------------------------------------- */

struct rig {
    larder_device *dev;
    larder_allocator *a;
};

static inline struct rig rig_up_policy(const char *spec, larder_policy policy,
                                       const char *conf)
{
    struct rig rig = {0};
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = conf;
    assert_ok(larder_device_open(spec, 0, &rig.dev));
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    return rig;
}

/* `conf` with which each page has a handle of its own under the policy larder,
 * so that tests on small devices can see single pages move. */
struct rig_conf {
    char words[256];
};

static inline struct rig_conf rig_conf_pages(const char *conf)
{
    struct rig_conf pages;

    snprintf(pages.words, sizeof pages.words, "handle_mib:2%s%s",
             conf[0] == '\0' ? "" : ",", conf);
    return pages;
}

static inline struct rig rig_up_pages(const char *spec, larder_policy policy,
                                      const char *conf)
{
    if (policy != LARDER_POLICY_LARDER)
        return rig_up_policy(spec, policy, conf);
    return rig_up_policy(spec, policy, rig_conf_pages(conf).words);
}

static inline struct rig rig_up(const char *spec, const char *conf)
{
    return rig_up_policy(spec, LARDER_POLICY_PYTORCH, conf);
}

static inline larder_sim_usage rig_usage(larder_device *dev)
{
    larder_sim_usage usage = {.size = sizeof usage};

    assert_ok(larder_sim_get_usage(dev, &usage));
    return usage;
}

/* Only the context is held from the device. */
static inline void assert_device_empty(larder_device *dev)
{
    larder_sim_usage usage = rig_usage(dev);

    assert_int_equal(usage.allocations, 0);
    assert_int_equal(usage.pages, 0);
    assert_int_equal(usage.mappings, 0);
    assert_int_equal(usage.reservations, 0);
    assert_int_equal(usage.events, 0);
    assert_int_equal(usage.self_bytes, usage.context_bytes);
}

/* Destroys everything; the device must get all memory back. */
static inline void rig_down(struct rig *rig)
{
    assert_ok(larder_check(rig->a));
    assert_ok(larder_destroy(rig->a));
    assert_device_empty(rig->dev);
    assert_ok(larder_device_close(rig->dev));
}

static inline larder_addr rig_alloc_on(struct rig *rig, uint64_t bytes,
                                       larder_stream stream)
{
    larder_addr addr = 0;

    assert_ok(larder_alloc(rig->a, bytes, stream, &addr));
    return addr;
}

static inline larder_addr rig_alloc(struct rig *rig, uint64_t bytes)
{
    return rig_alloc_on(rig, bytes, 0);
}

/* In the private pool. */
static inline larder_addr rig_alloc_in(struct rig *rig, larder_pool_id pool,
                                       uint64_t bytes, larder_stream stream)
{
    larder_addr addr;

    assert_ok(larder_pool_begin(rig->a, pool, NULL, NULL));
    addr = rig_alloc_on(rig, bytes, stream);
    assert_ok(larder_pool_end(rig->a, pool));
    return addr;
}

/* The request fails for lack of memory, and leaves the allocator sound. */
static inline void assert_no_room(struct rig *rig, uint64_t bytes)
{
    larder_addr addr = 77;

    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, bytes, 0, &addr));
    assert_int_equal(addr, 77);
    assert_ok(larder_check(rig->a));
}

static inline void rig_free(struct rig *rig, larder_addr addr)
{
    assert_ok(larder_free(rig->a, addr));
}

/* Freed, but stream `user` has not passed it. */
static inline void rig_leave_pending(struct rig *rig, uint64_t bytes,
                                     larder_stream user)
{
    larder_addr addr = rig_alloc(rig, bytes);

    assert_ok(larder_record_stream(rig->a, addr, user));
    rig_free(rig, addr);
}

static inline larder_stats rig_stats(struct rig *rig)
{
    larder_stats st;

    larder_stats_init(&st);
    assert_ok(larder_stats_get(rig->a, &st));
    return st;
}

static inline larder_pool_info rig_pool_info(struct rig *rig, larder_pool_id id)
{
    larder_pool_info info;

    larder_pool_info_init(&info);
    assert_ok(larder_pool_info_get(rig->a, id, &info));
    return info;
}

static inline uint64_t rig_reserved(struct rig *rig)
{
    return (uint64_t)rig_stats(rig).reserved_bytes.all.current;
}

static inline larder_device_counters rig_counters(struct rig *rig)
{
    larder_device_counters counters = {.size = sizeof counters};

    assert_ok(larder_device_get_counters(rig->dev, &counters));
    return counters;
}

/* How often a device call succeeded. */
static inline uint64_t rig_calls(struct rig *rig, larder_call call)
{
    return rig_counters(rig).calls[call];
}

/* ---- pictures ------------------------------------------------------------ */

/* Every segment and block as text, and all statistics except `num_ooms`, which
 * a failure changes on purpose. */
struct picture {
    char *text;
    size_t length;
    size_t capacity;
};

static inline void picture_add(struct picture *p, const char *format, ...)
{
    va_list args;
    int n;

    if (p->capacity - p->length < 256) {
        p->capacity = p->capacity * 2 + 4096;
        p->text = realloc(p->text, p->capacity);
        assert_non_null(p->text);
    }
    va_start(args, format);
    n = vsnprintf(p->text + p->length, p->capacity - p->length, format, args);
    va_end(args);
    p->length += (size_t)n;
}

static inline int picture_segment(void *ctx, const larder_segment_info *s)
{
    picture_add(
        ctx,
        "segment %llx +%llu allocated %llu active %llu requested %llu "
        "stream %llu pool %llu.%llu %s%s%s\n",
        (unsigned long long)s->addr, (unsigned long long)s->bytes,
        (unsigned long long)s->allocated_bytes,
        (unsigned long long)s->active_bytes,
        (unsigned long long)s->requested_bytes, (unsigned long long)s->stream,
        (unsigned long long)s->pool.first, (unsigned long long)s->pool.second,
        s->is_large ? "large" : "small", s->is_expandable ? " expandable" : "",
        s->is_reserved ? " reserved" : "");
    return 0;
}

static inline int picture_block(void *ctx, const larder_segment_info *s,
                                const larder_block_info *b)
{
    (void)s;
    picture_add(ctx, "  %llx +%llu state %d requested %llu\n",
                (unsigned long long)b->addr, (unsigned long long)b->bytes,
                (int)b->state,
                b->state == LARDER_BLOCK_FREE
                    ? 0ULL
                    : (unsigned long long)b->requested_bytes);
    return 0;
}

static inline void picture_stat(struct picture *p, const char *name,
                                const larder_stat *s)
{
    picture_add(p, "%s %lld/%lld/%lld/%lld\n", name, (long long)s->current,
                (long long)s->peak, (long long)s->allocated,
                (long long)s->freed);
}

/* Blocks only: a call that fails half way must not change them. */
static inline struct picture picture_blocks(struct rig *rig)
{
    struct picture p = {0};

    picture_add(&p, "walk\n");
    assert_ok(larder_walk(rig->a, picture_segment, picture_block, &p));
    return p;
}

static inline struct picture picture_take(struct rig *rig)
{
    struct picture p = picture_blocks(rig);
    larder_stats st = rig_stats(rig);

#define X(name, text)                                                          \
    picture_stat(&p, #name, &st.name.all);                                     \
    picture_stat(&p, #name " small", &st.name.small_pool);                     \
    picture_stat(&p, #name " large", &st.name.large_pool);
    LARDER_METRIC_MAP(X)
#undef X
    picture_stat(&p, "oversize_allocations", &st.oversize_allocations);
    picture_stat(&p, "oversize_segments", &st.oversize_segments);
    st.num_ooms = 0;
#define X(name, text) picture_add(&p, "%s %lld\n", #name, (long long)st.name);
    LARDER_COUNTER_MAP(X)
#undef X
    return p;
}

/* Frees both. */
static inline void rig_same_picture(struct picture before, struct picture after,
                                    const char *file, int line)
{
    int same = strcmp(before.text, after.text) == 0;

    if (!same)
        print_error("%s:%d: before:\n%s\nafter:\n%s\n", file, line, before.text,
                    after.text);
    free(before.text);
    free(after.text);
    if (!same)
        _fail(file, line);
}

/* Nothing has changed since `before` was taken; frees it. */
#define assert_unchanged(rig, before)                                          \
    rig_same_picture((before), picture_take(rig), __FILE__, __LINE__)
