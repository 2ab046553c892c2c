/* region_sleep.c - releases a region's memory for a while.
 *
 * Committed parts stay committed: their blocks are live but have no pages, the
 * only state in which that is so.  All pages are unmapped before the first
 * handle is given up (region_detach.c). */
#include "core/region/region_pages.h"

#include "base/fail.h"
#include "core/policy_larder/handles.h"
#include "core/segments/events.h"
#include "core/state/policy.h"

/* The next run of committed pages from `from` on.  False: none. */
static bool next_committed(struct allocator *a, const struct region *g,
                           size_t from, struct page_span *run)
{
    const struct segment *s = g->segment;
    struct block *b;

    if (from >= s->bytes / PAGE_BYTES)
        return false;
    b = larder__region_block(a, g, page_at(s, from));
    while (b != NULL && b->state != BLOCK_LIVE)
        b = slab_get(&a->slab, b->next);
    if (b == NULL)
        return false;
    *run = pages_touched(s, b->addr, b->bytes);
    for (b = slab_get(&a->slab, b->next); b != NULL && b->state == BLOCK_LIVE;
         b = slab_get(&a->slab, b->next))
        run->end = pages_touched(s, b->addr, b->bytes).end;
    return true;
}

/* ---- contents -------------------------------------------------------------- */

static larder_result region_sleep_take(struct allocator *a, struct region *g)
{
    uint64_t bytes = g->pool->usage.allocated_bytes;

    if (bytes == 0 || larder__kept_take(a, &g->kept, bytes))
        return LARDER_OK;
    return larder__fail(LARDER_ERR_NO_HOST_MEMORY,
                        "not enough host memory to keep the contents of the "
                        "region '%s'",
                        g->name);
}

static larder_result region_sleep_copy(struct allocator *a, struct region *g,
                                       larder_copy_kind kind)
{
    struct page_span run = {0};
    char *host = g->kept.host;
    bool is_out = kind == LARDER_COPY_TO_HOST;
    larder_result r = LARDER_OK;

    if (host == NULL)
        return LARDER_OK;
    while (r == LARDER_OK && next_committed(a, g, run.end, &run)) {
        uint64_t bytes = pages_bytes(run.end - run.begin);
        uint64_t addr = page_at(g->segment, run.begin);
        uint64_t pointer = (uint64_t)(uintptr_t)host;

        r = larder_device_copy(a->device, is_out ? pointer : addr,
                               is_out ? addr : pointer, bytes, kind,
                               g->segment->heap->stream);
        host += bytes;
    }
    fail_keep_first(&r,
                    larder__kept_wait(a, &g->kept, g->segment->heap->stream));
    return r;
}

larder_result larder__region_forget(struct allocator *a, struct region *g)
{
    larder_result r = LARDER_OK;

    if (g->kept.is_in_flight)
        r = larder__kept_wait(a, &g->kept, g->segment->heap->stream);
    if (r != LARDER_OK || larder__kept_free(a, &g->kept))
        return r;
    return larder__fail_plain(LARDER_ERR_DEVICE);
}

/* ---- pages ----------------------------------------------------------------- */

/* Map memory at all committed pages that have none, each run completely or not
 * at all. */
static larder_result map_committed(struct allocator *a, struct region *g)
{
    struct page_span run = {0};
    larder_result r = LARDER_OK;

    while (r == LARDER_OK && next_committed(a, g, run.end, &run))
        r = larder__region_fill(a, g, run);
    return r;
}

void larder__regions_forget(struct allocator *a)
{
    for (struct private_pool *p = a->privates.first; p != NULL; p = p->next) {
        if (p->region == NULL)
            continue;
        larder__region_let_go(a, p->region);
        p->region->kept.is_in_flight = false; /* no work is queued any more */
        (void)larder__kept_free(a, &p->region->kept);
    }
}

/* ---- entry points ---------------------------------------------------------- */

static void set_asleep(struct region *g, bool is_asleep)
{
    g->segment->is_asleep = is_asleep;
    g->pool->asleep_bytes = is_asleep ? g->pool->usage.allocated_bytes : 0;
}

larder_result larder__region_pass(struct allocator *a, const struct region *g)
{
    larder_result r = larder__events_sync_owner(a, g->pool);

    if (r == LARDER_OK)
        r = larder__events_pass(a, g->segment->heap->stream);

    for (struct block *b = g->segment->head; r == LARDER_OK && b != NULL;
         b = slab_get(&a->slab, b->next)) {
        if (b->state == BLOCK_PENDING)
            return larder__fail(LARDER_ERR_BUSY,
                                "a recorded stream still uses memory of the "
                                "region '%s'",
                                g->name);
        for (const struct use *use = b->state == BLOCK_LIVE ? b->uses : NULL;
             use != NULL && r == LARDER_OK; use = use->next) {
            if (use->is_hold)
                return larder__fail(LARDER_ERR_BUSY,
                                    "memory of the region '%s' is exported: "
                                    "close that first",
                                    g->name);
            r = larder__events_pass(a, use->stream);
        }
    }
    return r;
}

/* Save the contents, if they are to be kept. */
static larder_result keep_contents(struct allocator *a, struct region *g,
                                   bool keep)
{
    larder_result r = larder__region_forget(a, g);

    if (r != LARDER_OK || !keep)
        return r;
    r = region_sleep_take(a, g);
    if (r == LARDER_OK)
        r = region_sleep_copy(a, g, LARDER_COPY_TO_HOST);
    if (r != LARDER_OK)
        (void)larder__kept_free(a, &g->kept);
    return r;
}

larder_result larder__region_sleep(struct allocator *a, struct region *g,
                                   bool keep)
{
    size_t before;
    larder_result r = larder__region_pass(a, g);

    larder__assert(allocator_is_locked(a) && g->pool->region == g);
    if (r == LARDER_OK)
        r = larder__region_trim(a, g);
    if (r == LARDER_OK)
        r = keep_contents(a, g, keep);
    if (r != LARDER_OK)
        return r;
    r = larder__region_detach(a, g);
    if (r != LARDER_OK) {
        if (!region_is_detached(g))
            (void)larder__kept_free(a, &g->kept);
        return r;
    }
    before = a->larder->loose.pages;
    larder__region_let_go(a, g);
    set_asleep(g, true);
    larder__handles_drop(a, a->larder->loose.pages - before);
    return LARDER_OK;
}

/* The region is awake with its contents: those kept on the host are not needed
 * any more. */
static void awake(struct allocator *a, struct region *g)
{
    set_asleep(g, false);
    (void)larder__kept_free(a, &g->kept);
}

/* Asleep again, with all contents kept. */
static void wake_undo(struct allocator *a, struct region *g)
{
    char words[LARDER_FAIL_MAX];
    size_t before = a->larder->loose.pages;

    larder__copy_error(words, sizeof words);
    if (!g->kept.is_in_flight)
        larder__region_empty(a, g);
    larder__handles_drop(a, a->larder->loose.pages - before);
    larder__set_error("%s", words);
}

larder_result larder__region_wake(struct allocator *a, struct region *g)
{
    bool was_detached = region_is_detached(g);
    larder_result r;

    larder__assert(allocator_is_locked(a) && g->pool->region == g);
    r = was_detached ? larder__region_attach(a, g) : map_committed(a, g);
    if (r == LARDER_OK && !was_detached)
        r = region_sleep_copy(a, g, LARDER_COPY_TO_DEVICE);
    if (r == LARDER_OK)
        awake(a, g);
    else if (!was_detached)
        wake_undo(a, g);
    return r;
}
