/* every_call.h - every public call on an allocator, for tests of allocators that
 * refuse them all; tests/lint/refusals.sh sees that none is missing.  Header
 * only. */
#pragma once

#include <larder/account.h>
#include <larder/hint.h>
#include <larder/history.h>
#include <larder/larder.h>
#include <larder/migrate.h>
#include <larder/pinned.h>
#include <larder/region.h>
#include <larder/share.h>
#include <larder/tag.h>

typedef void every_call_fn(void *ctx, const char *name, larder_result r);

static inline void every_account(void *ctx, const larder_account_line *line)
{
    (void)ctx;
    (void)line;
}

static inline int every_event(void *ctx, const larder_event *event)
{
    (void)ctx;
    (void)event;
    return 0;
}

static inline int every_frame(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)ctx;
    (void)frame;
    (void)out;
    return 0;
}

static inline int every_write(void *ctx, const void *bytes, size_t count)
{
    (void)ctx;
    (void)bytes;
    (void)count;
    return 0;
}

static inline int every_reclaim(void *ctx)
{
    (void)ctx;
    return 0;
}

static inline void every_oom(void *ctx, const larder_oom_info *info)
{
    (void)ctx;
    (void)info;
}

static inline int every_segment(void *ctx, const larder_segment_info *segment)
{
    (void)ctx;
    (void)segment;
    return 0;
}

/* What the calls are given beside the allocator. */
struct every_argument {
    larder_addr addr;
    larder_pool_id pool;
    const larder_checkpoint *checkpoint;
};

#define CALL(name, ...) got(ctx, #name, name(a, __VA_ARGS__))
#define CALL_ALONE(name) got(ctx, #name, name(a))

static inline void every_call_on_memory(larder_allocator *a,
                                        const struct every_argument *with,
                                        every_call_fn *got, void *ctx)
{
    larder_export *exported = NULL;
    larder_region *region = NULL;
    larder_addr addr = 0;
    uint64_t bytes = 0;
    void *ptr = &bytes;

    CALL(larder_alloc, 512, 0, &addr);
    CALL(larder_alloc, 0, 0, &addr);
    CALL(larder_alloc_hinted, 512, 0, LARDER_HINT_LONG, &addr);
    CALL(larder_free, with->addr);
    CALL(larder_free, 0);
    CALL(larder_record_stream, with->addr, 1);
    CALL_ALONE(larder_empty_cache);
    CALL(larder_trim, 0, &bytes);
    CALL(larder_reserve, 2 << 20);
    CALL(larder_largest_cached, &bytes);
    CALL(larder_base_allocation, with->addr, &addr, &bytes);
    CALL_ALONE(larder_migrate_begin);
    CALL_ALONE(larder_migrate_end);
    CALL(larder_migrate_guard, NULL, NULL, NULL);
    CALL(larder_pinned_alloc, 512, &ptr);
    CALL(larder_pinned_free, &bytes);
    CALL(larder_pinned_record_stream, &bytes, 1);
    CALL(larder_region_create, 2 << 20, NULL, &region);
    CALL(larder_export_open, with->addr, &exported);
}

static inline void every_call_on_pools(larder_allocator *a,
                                       const struct every_argument *with,
                                       every_call_fn *got, void *ctx)
{
    larder_pool_info info;
    larder_checkpoint *cp = NULL;
    larder_addr addr = with->addr;
    size_t freed = 0;
    size_t created = 0;
    int same = 0;

    larder_pool_info_init(&info);
    CALL(larder_pool_begin, with->pool, NULL, NULL);
    CALL(larder_pool_end, with->pool);
    CALL(larder_pool_release, with->pool);
    CALL(larder_pool_set_limit, with->pool, 2 << 20);
    CALL(larder_pool_set_minimum, with->pool, 2 << 20);
    CALL(larder_pool_set_lending, with->pool, 1);
    CALL(larder_pool_lend, with->pool, 0);
    CALL(larder_pool_recall, with->pool);
    CALL(larder_pool_set_whole, with->pool, 1);
    CALL(larder_pool_info_get, with->pool, &info);
    CALL(larder_pool_live_is, with->pool, &addr, 1, &same);
    CALL(larder_checkpoint_take, with->pool, &cp);
    CALL(larder_checkpoint_restore, with->checkpoint, NULL, 0, &freed, NULL, 0,
         &created);
    CALL_ALONE(larder_capture_begin);
    CALL_ALONE(larder_capture_end);
}

static inline void every_call_on_owners(larder_allocator *a, every_call_fn *got,
                                        void *ctx)
{
    larder_tag_usage usage = {.size = sizeof usage};

    CALL(larder_account, every_account, NULL);
    CALL(larder_cache_set_minimum, 2 << 20);
    CALL(larder_cache_set_limit, 2 << 20);
    CALL(larder_tag_begin, "tag");
    CALL_ALONE(larder_tag_end);
    CALL(larder_tag_stats, "tag", &usage);
    CALL(larder_tag_limit, "tag", 2 << 20);
    CALL(larder_tag_set_minimum, "tag", 2 << 20);
    CALL(larder_pause, "tag", LARDER_PAUSE_DROP);
    CALL(larder_resume, "tag");
}

static inline void every_call_that_looks(larder_allocator *a,
                                         every_call_fn *got, void *ctx)
{
    larder_history_info history = {.size = sizeof history};
    larder_pinned_stats pinned = {.size = sizeof pinned};
    larder_stats st;
    size_t needed = 0;

    larder_stats_init(&st);
    CALL(larder_stats_get, &st);
    CALL_ALONE(larder_stats_reset_peak);
    CALL_ALONE(larder_stats_reset_accumulated);
    CALL(larder_memory_summary, 0, NULL, 0, &needed);
    CALL(larder_pinned_stats_get, &pinned);
    CALL(larder_walk, every_segment, NULL, NULL);
    CALL_ALONE(larder_check);
    CALL(larder_history_start, NULL);
    CALL_ALONE(larder_history_stop);
    CALL_ALONE(larder_history_clear);
    CALL(larder_history_get, &history);
    CALL(larder_history_walk, every_event, NULL);
    CALL(larder_history_mark, "mark");
    CALL(larder_set_frame_resolver, every_frame, NULL);
    CALL(larder_snapshot_write, "/nowhere/larder.pickle", NULL);
    CALL(larder_snapshot_write_to, every_write, NULL, NULL);
}

static inline void every_call_that_sets(larder_allocator *a, every_call_fn *got,
                                        void *ctx)
{
    double fraction = 0;

    CALL(larder_configure, "");
    CALL(larder_set_memory_fraction, 0.5);
    CALL(larder_memory_fraction, &fraction);
    CALL(larder_add_reclaim, every_reclaim, NULL);
    CALL(larder_add_oom_observer, every_oom, NULL);
}

/* `got` gets each result.  Not larder_destroy(), which may be given NULL. */
static inline void every_call(larder_allocator *a,
                              const struct every_argument *with,
                              every_call_fn *got, void *ctx)
{
    every_call_on_memory(a, with, got, ctx);
    every_call_on_pools(a, with, got, ctx);
    every_call_on_owners(a, got, ctx);
    every_call_that_looks(a, got, ctx);
    every_call_that_sets(a, got, ctx);
}

#undef CALL
#undef CALL_ALONE
