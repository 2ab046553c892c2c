/* region_api.c - the public calls on regions: each checks, locks and
 * delegates. */
#include <string.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "core/segments/minimum.h"
#include "core/debug/debug.h"
#include "core/entry/handle.h"
#include "core/history/recording.h"
#include "core/pause/pause.h"
#include "core/peers/peers.h"
#include "core/region/region_pages.h"

struct larder_region {
    larder_allocator *handle;
    struct region *region; /* valid as long as the allocator lives */
};

/* ---- creating -------------------------------------------------------------- */

void larder_region_options_init_sized(larder_region_options *opt, size_t size)
{
    sized_init(opt, size);
}

static bool is_whole_pages(uint64_t bytes)
{
    return bytes % PAGE_BYTES == 0;
}

static larder_result check_options(const larder_region_options *opt,
                                   uint64_t bytes)
{
    if (opt->name != NULL && strlen(opt->name) > LARDER_REGION_NAME_MAX)
        return larder__fail(LARDER_ERR_INVALID,
                            "'%.80s' is too long for a region's name: expected "
                            "up to %d bytes",
                            opt->name, LARDER_REGION_NAME_MAX);
    if (bytes == 0 || !is_whole_pages(bytes) ||
        !is_whole_pages(opt->handle_bytes))
        return larder__fail(LARDER_ERR_INVALID,
                            "a region of %llu bytes in handles of %llu: "
                            "expected multiples of %d",
                            (unsigned long long)bytes,
                            (unsigned long long)opt->handle_bytes, PAGE_BYTES);
    return LARDER_OK;
}

static larder_result check_device(const struct allocator *a)
{
    if (a->is_paged)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_UNSUPPORTED,
                        "a region needs the policy larder and a device with "
                        "virtual memory");
}

static larder_result region_api_make(struct larder_region *made, uint64_t bytes,
                                     const larder_region_options *opt,
                                     const void *caller)
{
    struct allocator *a;
    larder_result r = larder__handle_lock_for(made->handle, &a, caller);

    if (r != LARDER_OK)
        return r;
    r = check_device(a);
    if (r == LARDER_OK)
        r = larder__region_create(a, bytes, opt, &made->region);
    return larder__handle_end(a, r);
}

larder_result larder_region_create(larder_allocator *handle, uint64_t bytes,
                                   const larder_region_options *opt,
                                   larder_region **out)
{
    larder_region_options own = {.size = sizeof own};
    struct larder_region *made;
    larder_result r = LARDER_OK;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (opt != NULL)
        r = sized_read(&own, sizeof own, opt);
    if (r == LARDER_OK)
        r = check_options(&own, bytes);
    if (r != LARDER_OK)
        return r;
    made = larder__host_alloc(1, sizeof *made);
    if (made == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    made->handle = handle;
    r = region_api_make(made, bytes, &own, __builtin_return_address(0));
    if (r != LARDER_OK) {
        larder__host_free(made);
        return r;
    }
    *out = made;
    return LARDER_OK;
}

/* ---- checks and locks ------------------------------------------------------ */

static larder_result region_lock(larder_region *region, struct allocator **out)
{
    if (region == NULL)
        return larder__fail(LARDER_ERR_INVALID, "the region is NULL");
    return larder__handle_lock(region->handle, out);
}

static larder_result check_not_paused(const struct region *g)
{
    if (!g->pool->is_paused)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_PAUSED,
                        "the region '%s' is paused: call "
                        "larder_region_resume() first",
                        g->name);
}

/* The same for calls that change what is committed. */
static larder_result region_enter(larder_region *region, struct allocator **out,
                                  const void *caller)
{
    larder_result r = region_lock(region, out);

    if (r != LARDER_OK)
        return r;
    peers_answer_calls_locked(*out);
    shards_enter(*out);
    history_enter(*out, caller);
    r = check_not_paused(region->region);
    if (r != LARDER_OK)
        larder__handle_unlock(*out);
    return r;
}

/* The pages of a part of the region, which must consist of whole pages. */
static larder_result span_of(const struct region *g, uint64_t offset,
                             uint64_t bytes, struct page_span *out)
{
    if (!is_whole_pages(offset) || !is_whole_pages(bytes) ||
        offset > g->segment->bytes || bytes > g->segment->bytes - offset)
        return larder__fail(LARDER_ERR_INVALID,
                            "%llu bytes at %llu of the region '%s': expected "
                            "multiples of %d within its %llu bytes",
                            (unsigned long long)bytes,
                            (unsigned long long)offset, g->name, PAGE_BYTES,
                            (unsigned long long)g->segment->bytes);
    *out =
        (struct page_span){offset / PAGE_BYTES, (offset + bytes) / PAGE_BYTES};
    return LARDER_OK;
}

static larder_result region_api_end(struct allocator *a, larder_result r)
{
    a->stats.num_ooms += r == LARDER_ERR_OUT_OF_MEMORY;
    return larder__handle_end(a, r);
}

/* ---- changes --------------------------------------------------------------- */

typedef larder_result change(struct allocator *a, struct region *g,
                             struct page_span span);

/* Another thread may have paused the region meanwhile. */
static larder_result change_again(struct allocator *a, struct region *g,
                                  struct page_span span, change *what)
{
    larder_result r = check_not_paused(g);

    return r == LARDER_OK ? what(a, g, span) : r;
}

static uint64_t span_lack(struct allocator *a, const struct region *g,
                          struct page_span span)
{
    return pages_bytes(span.end - span.begin) -
           larder__region_at_hand(a, g, span);
}

static larder_result change_whole(struct allocator *a, struct region *g,
                                  struct page_span span, change *what)
{
    struct peers_search search = larder__peers_search(a);
    larder_result r = what(a, g, span);

    while (r == LARDER_ERR_OUT_OF_MEMORY &&
           larder__peers_help_owner(a, &g->pool->holding, &search,
                                    span_lack(a, g, span)))
        r = change_again(a, g, span, what);
    return r;
}

static larder_result change_span(larder_region *region, uint64_t offset,
                                 uint64_t bytes, change *what,
                                 const void *caller)
{
    struct page_span span;
    struct allocator *a;
    larder_result r = region_enter(region, &a, caller);

    if (r != LARDER_OK)
        return r;
    r = span_of(region->region, offset, bytes, &span);
    if (r == LARDER_OK && span.begin < span.end)
        r = change_whole(a, region->region, span, what);
    return region_api_end(a, r);
}

larder_result larder_region_commit(larder_region *region, uint64_t offset,
                                   uint64_t bytes)
{
    return change_span(region, offset, bytes, larder__region_commit,
                       __builtin_return_address(0));
}

/* With debug:3 the addresses must fault at once. */
static larder_result decommit(struct allocator *a, struct region *g,
                              struct page_span span)
{
    larder_result r = larder__region_decommit(a, g, span);

    if (r != LARDER_OK || a->debug == NULL)
        return r;
    if (larder__debug_releases(a))
        (void)larder__region_trim(a, g); /* what is not released stays mapped */
    return larder__finding_report(a);
}

larder_result larder_region_decommit(larder_region *region, uint64_t offset,
                                     uint64_t bytes)
{
    return change_span(region, offset, bytes, decommit,
                       __builtin_return_address(0));
}

larder_result larder_region_record_stream(larder_region *region,
                                          uint64_t offset, uint64_t bytes,
                                          larder_stream stream)
{
    struct page_span span = {0};
    struct allocator *a;
    larder_result r = region_lock(region, &a);

    if (r != LARDER_OK)
        return r;
    r = check_not_paused(region->region);
    if (r == LARDER_OK)
        r = span_of(region->region, offset, bytes, &span);
    if (r == LARDER_OK && span.begin < span.end)
        r = larder__region_record(a, region->region, span, stream);
    return larder__handle_end(a, r);
}

larder_result larder_region_at_hand(larder_region *region, uint64_t offset,
                                    uint64_t bytes, uint64_t *out)
{
    struct page_span span;
    struct allocator *a;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = region_lock(region, &a);
    if (r != LARDER_OK)
        return r;
    r = span_of(region->region, offset, bytes, &span);
    if (r == LARDER_OK)
        *out = span.begin < span.end
                   ? larder__region_at_hand(a, region->region, span)
                   : 0;
    return larder__handle_end(a, r);
}

larder_result larder_region_trim(larder_region *region, uint64_t *released)
{
    struct allocator *a;
    uint64_t before;
    larder_result r = region_enter(region, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    before = a->held_bytes;
    r = larder__capturing_forbids(a, "memory cannot be released");
    if (r == LARDER_OK)
        r = larder__region_trim(a, region->region);
    if (released != NULL)
        *released = before - bits_lesser(before, a->held_bytes);
    return larder__handle_end(a, r);
}

/* ---- pausing --------------------------------------------------------------- */

static larder_result region_api_pause(struct allocator *a, struct region *g,
                                      bool keep)
{
    larder_result r = larder__pause_settle(a, g->pool);

    if (r == LARDER_OK)
        r = larder__region_trim(a, g);
    return r == LARDER_OK ? larder__pause_begin(a, g->pool, keep) : r;
}

larder_result larder_region_pause(larder_region *region, larder_pause_mode mode)
{
    struct allocator *a;
    larder_result r = region_enter(region, &a, __builtin_return_address(0));

    if (r != LARDER_OK)
        return r;
    if (mode != LARDER_PAUSE_KEEP && mode != LARDER_PAUSE_DROP)
        r = larder__fail(LARDER_ERR_INVALID, "%d is not a pause mode",
                         (int)mode);
    if (r == LARDER_OK)
        r = larder__capturing_forbids(a, "memory cannot be paused or resumed");
    if (r == LARDER_OK)
        r = region_api_pause(a, region->region, mode == LARDER_PAUSE_KEEP);
    return larder__handle_end(a, r);
}

larder_result larder_region_resume(larder_region *region)
{
    struct allocator *a;
    larder_result r = region_lock(region, &a);

    if (r != LARDER_OK)
        return r;
    history_enter(a, __builtin_return_address(0));
    r = larder__pause_resume(a, region->region->pool, larder__region_fill);
    return region_api_end(a, r);
}

/* ---- the account ----------------------------------------------------------- */

larder_result larder_region_set_minimum(larder_region *region, uint64_t bytes)
{
    struct allocator *a;
    larder_result r = region_lock(region, &a);

    if (r != LARDER_OK)
        return r;
    return larder__handle_end(
        a, larder__minimum_set(a, &region->region->pool->holding, bytes));
}

larder_result larder_region_set_limit(larder_region *region, uint64_t bytes)
{
    struct allocator *a;
    larder_result r = region_lock(region, &a);

    if (r != LARDER_OK)
        return r;
    region->region->pool->holding.limit_bytes = bytes;
    return larder__handle_end(a, LARDER_OK);
}

static larder_region_info info_of(struct allocator *a, const struct region *g)
{
    const struct segment *s = g->segment;
    larder_region_info info = {
        .size = sizeof info,
        .addr = s->addr,
        .bytes = s->bytes,
        .committed_bytes = g->pool->usage.allocated_bytes,
        .held_bytes = g->pool->holding.held_bytes,
        .minimum_bytes = g->pool->holding.minimum_bytes,
        .limit_bytes = g->pool->holding.limit_bytes,
        .is_paused = g->pool->is_paused,
        .kept_bytes = kept_bytes(&g->pool->kept),
    };

    for (const struct block *b = s->head; b != NULL; b = block_next(a, b))
        info.pending_bytes += b->state == BLOCK_PENDING ? b->bytes : 0;
    if (!info.is_paused)
        info.idle_bytes =
            info.held_bytes - info.committed_bytes - info.pending_bytes;
    return info;
}

larder_result larder_region_get_info(larder_region *region,
                                     larder_region_info *out)
{
    larder_region_info info;
    struct allocator *a;
    larder_result r = region_lock(region, &a);

    if (r != LARDER_OK)
        return r;
    info = info_of(a, region->region);
    larder__handle_unlock(a);
    return sized_write(out, &info, sizeof info);
}

/* ---- destroying ------------------------------------------------------------ */

larder_result larder_region_destroy(larder_region *region)
{
    struct allocator *a;
    larder_result r;

    if (region == NULL)
        return LARDER_OK;
    r = region_enter(region, &a, __builtin_return_address(0));
    if (r == LARDER_ERR_DESTROYED)
        larder__host_free(region);
    if (r != LARDER_OK)
        return r == LARDER_ERR_DESTROYED ? LARDER_OK : r;
    r = larder__capturing_forbids(a, "a region cannot be destroyed");
    if (r == LARDER_OK)
        r = larder__region_destroy(a, region->region);
    larder__handle_unlock(a);
    if (r == LARDER_OK)
        larder__host_free(region);
    return r;
}
