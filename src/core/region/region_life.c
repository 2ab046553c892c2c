/* region_life.c - creates, trims and destroys regions. */
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/segments/minimum.h"
#include "core/debug/debug.h"
#include "core/pause/pause.h"
#include "core/pools/pool.h"
#include "core/pools/private.h"
#include "core/region/region_pages.h"
#include "core/segments/segment.h"

/* Identifies the pools of regions in events and snapshots. */
#define REGION_POOL_FIRST (UINT32_MAX - UINT64_C(1))

/* ---- creating -------------------------------------------------------------- */

static larder_pool_id new_id(const struct allocator *a)
{
    larder_pool_id id = {.first = REGION_POOL_FIRST, .second = 1};

    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        if (p->region != NULL && p->id.second >= id.second)
            id.second = p->id.second + 1;
    }
    return id;
}

/* The new region is in no list yet. */
static struct region *region_new(const struct allocator *a,
                                 const larder_region_options *opt)
{
    struct region *g = larder__host_alloc(1, sizeof *g);

    if (g == NULL)
        return NULL;
    g->pool = larder__private_create(new_id(a));
    if (g->pool == NULL) {
        larder__host_free(g);
        return NULL;
    }
    larder__assert(opt->name == NULL ||
                   strlen(opt->name) <= LARDER_REGION_NAME_MAX);
    if (opt->name != NULL)
        strcpy(g->name, opt->name);
    g->handle_pages = SIZE_MAX;
    if (opt->handle_bytes != 0)
        g->handle_pages = opt->handle_bytes / PAGE_BYTES;
    if (a->debug != NULL && a->debug->level > 2)
        g->handle_pages = 1; /* any page can be released alone */
    g->pool->region = g;
    g->pool->name = g->name;
    g->pool->holding.limit_bytes = opt->limit_bytes;
    return g;
}

/* Make the region's heap and its only segment. */
static larder_result reserve(struct allocator *a, struct region *g,
                             uint64_t bytes, larder_stream stream)
{
    struct heap *heap;
    larder_result r = pool_heap(a, &g->pool->pools[POOL_LARGE], stream, &heap);

    if (r == LARDER_OK)
        r = larder__range_reserve(a, heap, bytes);
    if (r == LARDER_OK)
        g->segment = a->segments; /* the segment linked last */
    larder__assert(r != LARDER_OK || g->segment->heap == heap);
    larder__assert(r != LARDER_OK || g->segment->bytes == bytes);
    return r;
}

larder_result larder__region_create(struct allocator *a, uint64_t bytes,
                                    const larder_region_options *opt,
                                    struct region **out)
{
    struct region *g = region_new(a, opt);
    larder_result r;

    larder__assert(allocator_is_locked(a) && bytes % PAGE_BYTES == 0);
    if (g == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    larder__private_append(a, g->pool);
    r = larder__minimum_set(a, &g->pool->holding, opt->minimum_bytes);
    if (r == LARDER_OK)
        r = reserve(a, g, bytes, opt->stream);
    if (r != LARDER_OK) {
        larder__private_remove(a, g->pool);
        return r;
    }
    *out = g;
    return LARDER_OK;
}

/* ---- emptying -------------------------------------------------------------- */

/* Make all idle pages loose. */
static larder_result unmap_idle(struct allocator *a, const struct region *g)
{
    return larder__paged_release_heap(a, g->segment->heap);
}

larder_result larder__region_trim(struct allocator *a, struct region *g)
{
    size_t loose = a->larder->loose.pages;
    larder_result r = unmap_idle(a, g);

    larder__assert(a->larder->loose.pages >= loose);
    larder__handles_keep(a, loose);
    return r;
}

/* ---- destroying ------------------------------------------------------------ */

/* Wait for all work, and free what only waited for that. */
static larder_result region_life_settle(struct allocator *a, struct region *g)
{
    larder_result r = larder__region_check_unused(a, g);

    if (r == LARDER_OK)
        r = larder__pause_settle(a, g->pool);
    return r == LARDER_OK ? larder__pause_forget(a, g->pool) : r;
}

/* Up to the last call that can fail everything stays as it is, or returns to
 * that. */
larder_result larder__region_destroy(struct allocator *a, struct region *g)
{
    struct segment *s = g->segment;
    larder_result r = region_life_settle(a, g);

    larder__assert(allocator_is_locked(a) && g->pool->region == g);
    if (r == LARDER_OK && a->orphans.count > 0) /* one may be mapped here */
        r = larder__orphans_release(a);
    if (r == LARDER_OK)
        r = larder__paged_settle(a);
    if (r == LARDER_OK)
        r = larder__pause_detach(a, g->pool);
    if (r != LARDER_OK)
        return r;
    r = larder__device_address_free(a->device, s->addr, s->bytes);
    if (r != LARDER_OK) {
        larder__pause_reattach(a, g->pool);
        return r;
    }
    larder__region_free_all(a, g);
    larder__pause_let_go(a, g->pool);
    larder__range_forget(a, s);
    larder__private_remove(a, g->pool);
    return LARDER_OK;
}
