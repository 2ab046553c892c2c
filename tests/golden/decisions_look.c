/* decisions_look.c - all that can be asked of an allocator, as digests. */
#include <inttypes.h>

#include <larder/account.h>
#include <larder/history.h>
#include <larder/pinned.h>
#include <larder/tag.h>

#include "base/host.h"
#include "golden/decisions.h"

/* ---- digests ------------------------------------------------------------------- */

/* No size that a program uses is larger, and no address smaller. */
#define KNOWN_BELOW (UINT64_C(1) << 41)

void mix(struct world *w, enum digest digest, uint64_t value)
{
    digest_number(&w->digests[digest], value);
}

/* Others are the host's. */
uint64_t place_of(const struct world *w, larder_addr addr)
{
    const uint64_t region_bytes = w->second - w->first;

    if (addr < KNOWN_BELOW)
        return addr;
    if (addr >= w->first && addr < w->second)
        return addr - w->first;
    if (addr >= w->second && addr - w->second < region_bytes)
        return (addr - w->second) | UINT64_C(1) << 60;
    return KNOWN_BELOW;
}

void mix_words(struct world *w, enum digest digest, const char *words)
{
    while (*words != '\0') {
        char *end;

        if (words[0] == '0' && words[1] == 'x') {
            mix(w, digest, place_of(w, strtoull(words, &end, 16)));
            words = end;
        } else if (*words >= '1' && *words <= '9') {
            mix(w, digest, place_of(w, strtoull(words, &end, 10)));
            words = end;
        } else {
            digest_byte(&w->digests[digest], (unsigned char)*words++);
        }
    }
}

/* ---- what every program has ------------------------------------------------------- */

static int mix_segment(void *ctx, const larder_segment_info *s)
{
    const uint64_t values[] = {
        place_of(ctx, s->addr),
        s->bytes,
        s->allocated_bytes,
        s->active_bytes,
        s->requested_bytes,
        s->stream,
        s->pool.first,
        s->pool.second,
        (uint64_t)s->is_large,
        (uint64_t)s->is_expandable,
        (uint64_t)s->is_reserved,
        s->block_count,
        (uint64_t)s->is_paused,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(ctx, DIGEST_blocks, values[i]);
    return 0;
}

static int mix_block(void *ctx, const larder_segment_info *s,
                     const larder_block_info *b)
{
    (void)s;
    mix(ctx, DIGEST_blocks, place_of(ctx, b->addr));
    mix(ctx, DIGEST_blocks, b->bytes);
    mix(ctx, DIGEST_blocks, b->requested_bytes);
    mix(ctx, DIGEST_blocks, (uint64_t)b->state);
    return 0;
}

static void mix_stat(struct world *w, enum digest digest, const larder_stat *s)
{
    mix(w, digest, (uint64_t)s->current);
    mix(w, digest, (uint64_t)s->peak);
    mix(w, digest, (uint64_t)s->allocated);
    mix(w, digest, (uint64_t)s->freed);
}

static void mix_statistics(struct world *w)
{
    larder_stats st = rig_stats(&w->rig);
    char summary[8192];

#define X(name, text)                                                          \
    mix_stat(w, DIGEST_statistics, &st.name.all);                              \
    mix_stat(w, DIGEST_statistics, &st.name.small_pool);                       \
    mix_stat(w, DIGEST_statistics, &st.name.large_pool);
    LARDER_METRIC_MAP(X)
#undef X
    mix_stat(w, DIGEST_statistics, &st.oversize_allocations);
    mix_stat(w, DIGEST_statistics, &st.oversize_segments);
#define X(name, text) mix(w, DIGEST_statistics, (uint64_t)st.name);
    LARDER_COUNTER_MAP(X)
    LARDER_OWN_COUNTER_MAP(X)
#undef X
    mix(w, DIGEST_statistics, (uint64_t)st.max_split_size);
    assert_ok(
        larder_memory_summary(w->rig.a, 0, summary, sizeof summary, NULL));
    mix_words(w, DIGEST_statistics, summary);
}

static void mix_line(void *ctx, const larder_account_line *line)
{
    const uint64_t values[] = {
        (uint64_t)line->kind, line->pool.first,      line->held_bytes,
        line->used_bytes,     line->asleep_bytes,    line->minimum_bytes,
        line->limit_bytes,    line->available_bytes,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(ctx, DIGEST_account, values[i]);
    mix_words(ctx, DIGEST_account, line->name);
}

/* ---- owners -------------------------------------------------------------------------- */

static void mix_pool(struct world *w, const struct pool *p)
{
    larder_addr addrs[SLOTS];
    larder_pool_info info;
    int same = 0;

    larder_pool_info_init(&info);
    if (larder_pool_info_get(w->rig.a, p->id, &info) != LARDER_OK)
        return;
    const uint64_t values[] = {
        info.limit_bytes,  info.reserved_bytes,  info.allocated_bytes,
        info.active_bytes, info.requested_bytes, info.segments,
        info.allocations,  (uint64_t)info.users, (uint64_t)info.is_begun,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(w, DIGEST_owners, values[i]);
    for (int i = 0; i < SLOTS; i++)
        addrs[i] = w->slots[i].addr;
    assert_ok(larder_pool_live_is(w->rig.a, p->id, addrs, SLOTS, &same));
    mix(w, DIGEST_owners, (uint64_t)same);
}

static void mix_tag(struct world *w, const char *name)
{
    larder_tag_usage use = LARDER_TAG_USAGE_INIT;

    if (larder_tag_stats(w->rig.a, name, &use) != LARDER_OK)
        return;
    const uint64_t values[] = {
        use.allocation_count, use.allocated_bytes, use.peak_allocated_bytes,
        use.requested_bytes,  use.reserved_bytes,  use.peak_reserved_bytes,
        use.limit_bytes,      use.refused_count,   (uint64_t)use.is_paused,
        use.paused_bytes,     use.kept_bytes,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(w, DIGEST_owners, values[i]);
}

static void mix_region(struct world *w, larder_region *region)
{
    larder_region_info info = LARDER_REGION_INFO_INIT;

    if (larder_region_get_info(region, &info) != LARDER_OK)
        return;
    const uint64_t values[] = {
        place_of(w, info.addr), info.bytes,       info.committed_bytes,
        info.pending_bytes,     info.idle_bytes,  info.held_bytes,
        info.minimum_bytes,     info.limit_bytes, (uint64_t)info.is_paused,
        info.kept_bytes,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(w, DIGEST_owners, values[i]);
}

/* How much the host has left is not the allocator's decision. */
static void mix_pinned_line(void *ctx, const larder_account_line *line)
{
    if (line->kind != LARDER_OWNER_CACHE)
        return;
    mix(ctx, DIGEST_owners, line->held_bytes);
    mix(ctx, DIGEST_owners, line->used_bytes);
    mix(ctx, DIGEST_owners, line->minimum_bytes);
    mix(ctx, DIGEST_owners, line->limit_bytes);
}

static void mix_pinned(struct world *w)
{
    larder_pinned_stats st;
    const larder_stat *const stats[] = {&st.allocations, &st.allocated_bytes,
                                        &st.active_requests, &st.active_bytes};

    larder_pinned_stats_init(&st);
    assert_ok(larder_pinned_stats_get(w->pinned, &st));
    assert_ok(larder_check(w->pinned));
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++)
        mix_stat(w, DIGEST_owners, stats[i]);
    mix(w, DIGEST_owners, (uint64_t)st.num_host_alloc);
    mix(w, DIGEST_owners, (uint64_t)st.num_host_free);
    mix(w, DIGEST_owners, st.host_alloc_time.count);
    mix(w, DIGEST_owners, st.host_free_time.count);
    CALL(w, larder_account(w->pinned, mix_pinned_line, w));
}

static void mix_owners(struct world *w)
{
    for (int i = 0; i < POOLS; i++)
        mix_pool(w, &w->pools[i]);
    for (int i = 0; i < TAGS; i++)
        mix_tag(w, tag_name((uint64_t)i));
    for (int i = 0; i < REGIONS; i++) {
        if (w->regions[i] != NULL)
            mix_region(w, w->regions[i]);
    }
    if (w->pinned != NULL)
        mix_pinned(w);
}

void look(struct world *w)
{
    larder__host_fail(0, 0);
    if (chance(w, 3))
        faults_end(w);
    assert_ok(larder_check(w->rig.a));
    assert_ok(larder_walk(w->rig.a, mix_segment, mix_block, w));
    mix_statistics(w);
    CALL(w, larder_account(w->rig.a, mix_line, w));
    mix_owners(w);
}

/* ---- the history --------------------------------------------------------------------------- */

static size_t stack_of(void *ctx, uint64_t *frames, size_t capacity)
{
    const struct world *w = ctx;
    size_t depth = 1 + (size_t)w->step % 5;

    if (depth > capacity)
        depth = capacity;
    for (size_t i = 0; i < depth; i++)
        frames[i] = 1 + ((uint64_t)w->step * 7 + i * i) % 40;
    return depth;
}

static int name_frame(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)ctx;
    snprintf(out->filename, sizeof out->filename, "program.py");
    snprintf(out->name, sizeof out->name, "f%" PRIu64, frame);
    out->line = (uint32_t)frame;
    return frame % 5 != 0;
}

void history_begin(struct world *w)
{
    larder_history_options opt;

    larder_history_options_init(&opt);
    opt.max_events = chance(w, 2) ? 200 : 4000;
    if (!chance(w, 4))
        opt.stacks = LARDER_STACKS_CALLBACK;
    opt.depth = chance(w, 2) ? 0 : 1 + (uint32_t)draw(w, 6);
    if (chance(w, 4))
        opt.skip_actions = (uint32_t)draw(w, 1u << 9);
    if (chance(w, 4))
        opt.stackless_actions = (uint32_t)draw(w, 1u << 9);
    opt.stack_bytes = chance(w, 4) ? KIB(1) : KIB(256);
    opt.stack_fn = stack_of;
    opt.stack_ctx = w;
    assert_ok(larder_history_start(w->rig.a, &opt));
    assert_ok(larder_set_frame_resolver(w->rig.a, name_frame, NULL));
}

static int mix_event(void *ctx, const larder_event *e)
{
    const uint64_t values[] = {
        (uint64_t)e->action,
        place_of(ctx, e->addr),
        e->bytes,
        e->device_free_bytes,
        e->stream,
        e->pool.first,
        e->pool.second,
        e->depth,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(ctx, DIGEST_events, values[i]);
    for (size_t i = 0; i < e->depth; i++)
        mix(ctx, DIGEST_events, e->stack[i]);
    mix_words(ctx, DIGEST_events, e->annotation);
    return 0;
}

static int put_part(void *ctx, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, ctx) != count;
}

/* Times are of the real clock. */
static void blank_times(char *json)
{
    static const char key[] = "\"time_us\":";

    while ((json = strstr(json, key)) != NULL) {
        json += sizeof key - 1;
        for (; *json >= '0' && *json <= '9'; json++)
            *json = ' ';
    }
}

static void mix_snapshot(struct world *w)
{
    larder_snapshot_options opt;
    char *json = NULL;
    size_t length;
    FILE *out = open_memstream(&json, &length);

    assert_non_null(out);
    larder_snapshot_options_init(&opt);
    opt.format = LARDER_SNAPSHOT_JSON;
    assert_ok(larder_snapshot_write_to(w->rig.a, put_part, out, &opt));
    assert_int_equal(fclose(out), 0);
    blank_times(json);
    mix_words(w, DIGEST_snapshot, json);
    free(json);
}

void look_at_history(struct world *w)
{
    larder_history_info info = LARDER_HISTORY_INFO_INIT;

    faults_end(w);
    mix_snapshot(w);
    assert_ok(larder_history_walk(w->rig.a, mix_event, w));
    assert_ok(larder_history_get(w->rig.a, &info));
    const uint64_t values[] = {
        (uint64_t)info.is_on, info.max_events,  info.events,
        info.lost_events,     info.stack_count, info.lost_stacks,
        info.lost_notes,
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        mix(w, DIGEST_events, values[i]);
}
