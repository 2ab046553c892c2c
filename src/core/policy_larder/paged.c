/* paged.c - the policy larder's pages as the rest of core sees them. */

#include "base/fail.h"
#include "base/host.h"
#include "core/policy_larder/carry.h"
#include "core/policy_larder/spot.h"
#include "core/pools/pool.h"
#include "core/segments/blocks.h"
#include "core/segments/segment.h"

/* ---- creating -------------------------------------------------------------- */

larder_result larder__paged_make(struct allocator *a)
{
    a->larder = larder__host_alloc(1, sizeof *a->larder);
    if (a->larder == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    a->larder->refused_at = UINT64_MAX;
    return LARDER_OK;
}

void larder__paged_unmake(struct allocator *a)
{
    if (a->larder == NULL)
        return;
    larder__host_free(a->larder->loose.list);
    larder__host_free(a->larder->spots.list);
    larder__carry_destroy(a);
    larder__host_free(a->larder);
    a->larder = NULL;
}

void larder__paged_reset(struct allocator *a)
{
    a->larder->refused_at = UINT64_MAX;
}

/* ---- releasing ----------------------------------------------------------- */

/* Release unused carved segments, which heaps may hold beside paged ones. */
static void release_carved(struct allocator *a)
{
    struct segment *next;

    for (struct segment *s = a->segments; s != NULL; s = next) {
        struct block *b = s->head;

        next = s->next;
        if (s->heap->fit != NULL && s->kind == SEGMENT_CARVED &&
            !block_is_split(b) && b->state == BLOCK_FREE)
            (void)larder__segment_release(a, b);
    }
}

/* A spot that the device fails to unmap stays mapped; larder__spots_unmap()
 * stops there and returns the error. */
larder_result larder__paged_release_heap(struct allocator *a, struct heap *heap)
{
    larder_result r;

    if (heap->fit == NULL)
        return LARDER_OK;
    r = larder__paged_settle(a);
    if (r != LARDER_OK)
        return r;
    larder__spots_find_of(a, heap);
    larder__spots_choose_all(a);
    return larder__spots_unmap(a);
}

/* One pass over all segments, not one for each heap. */
larder_result larder__paged_release_empty(struct allocator *a)
{
    larder_result r;

    if (!a->is_paged)
        return LARDER_OK;
    if (a->pieces != NULL)
        release_carved(a);
    r = larder__paged_settle(a);
    return r == LARDER_OK ? larder__ranges_release(a) : r;
}

void larder__paged_release_loose(struct allocator *a)
{
    larder__handles_drop(a, SIZE_MAX);
    larder__carry_tidy(a);
}

static bool spot_is_old(const struct allocator *a, const struct spot *spot)
{
    const struct segment *s = spot->block->segment;
    size_t old = 0;

    while (s->stamps != NULL && old < spot->pages &&
           stamp_is_old(a, s, spot->begin + old))
        old++;
    return old == spot->pages;
}

void larder__paged_release_old(struct allocator *a, const struct heap *heap)
{
    struct spots *spots = &a->larder->spots;
    size_t loose = a->larder->loose.pages;

    larder__spots_find_of(a, heap);
    for (size_t i = 0; i < spots->count; i++) {
        if (spot_is_old(a, &spots->list[i]))
            larder__spots_choose_one(spots, &spots->list[i]);
    }
    (void)larder__spots_unmap(a);
    larder__assert(a->larder->loose.pages >= loose);
    larder__handles_keep(a, loose);
}

void larder__paged_trim(struct allocator *a, uint64_t target)
{
    uint64_t bytes = a->held_bytes > target ? a->held_bytes - target : 0;
    size_t pages = (size_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    size_t loose = a->larder->loose.pages;

    if (!a->is_paged)
        return;
    (void)larder__paged_settle(a);
    if (loose < pages) {
        larder__spots_find(a);
        larder__spots_choose(a, pages - loose);
        (void)larder__spots_unmap(a);
    }
    larder__handles_drop(a, pages);
}

/* A free block changes as a whole, so no header is needed. */
void larder__paged_let_go(struct allocator *a, struct segment *s,
                          struct page_span span)
{
    struct page_span run = {.end = span.begin};

    while (page_next_held(s, span.end, &run))
        larder__pages_let_go(a, s, run);
    for (struct block *b = s->head; b != NULL; b = block_next(a, b)) {
        struct page_span pages = block_pages(b);

        if (b->state == BLOCK_FREE && s->pages[pages.begin] == 0)
            b = larder__pages_unmapped(a, b, pages);
    }
}

void larder__paged_keep(struct allocator *a, uint64_t bytes)
{
    larder__handles_keep(a, bytes / PAGE_BYTES);
}

/* ---- queries --------------------------------------------------------------- */

static size_t movable_pages_of(const struct heap *heap)
{
    size_t pages = 0;

    if (heap->fit == NULL || heap->page_count == 0)
        return 0;
    for (struct fit_place at = fit_from(heap->fit, PAGE_BYTES);
         at.block != NULL; at = fit_after(heap->fit, at)) {
        struct page_span span = pages_movable(at.block);

        pages += span.end - span.begin;
    }
    return pages;
}

bool larder__paged_has_movable(const struct heap *heap)
{
    struct fit_place at = fit_from(heap->fit, PAGE_BYTES);

    while (at.block != NULL && pages_movable(at.block).end == 0)
        at = fit_after(heap->fit, at);
    return at.block != NULL;
}

/* Of the stocked heaps, or of all. */
static uint64_t movable_bytes(const struct allocator *a, bool of_all)
{
    size_t pages = 0;

    for (int kind = 0; kind < POOL_KINDS; kind++) {
        const struct pool *pool = &a->pools[kind];
        struct heap *const *heaps = of_all ? pool->heaps : pool->stocked;
        uint32_t count = of_all ? pool->heap_count : pool->stocked_count;

        for (uint32_t i = 0; i < count; i++)
            pages += movable_pages_of(heaps[i]);
    }
    return pages_bytes(pages);
}

uint64_t larder__paged_movable_bytes(const struct allocator *a)
{
    return movable_bytes(a, false);
}

uint64_t larder__paged_loose_bytes(const struct allocator *a)
{
    return pages_bytes(a->larder->loose.pages);
}

bool larder__paged_take(struct allocator *a, uint64_t bytes, uint64_t *out)
{
    size_t pages = bytes / PAGE_BYTES;
    size_t i;

    if (!larder__handles_fit(a, 0, pages, &i) ||
        a->larder->loose.list[i].pages != pages)
        return false;
    *out = larder__handles_take(a, i);
    return true;
}

larder_result larder__paged_check(const struct allocator *a,
                                  size_t mapped_pages)
{
    const struct loose *loose = &a->larder->loose;
    size_t pages = 0;

    for (size_t i = 0; i < loose->handles; i++)
        pages += loose->list[i].pages;
    if (movable_bytes(a, false) != movable_bytes(a, true))
        return larder__fail(LARDER_ERR_CORRUPT,
                            "rule B7 is broken: pages can be moved in heaps "
                            "that are not stocked");
    if (pages != loose->pages)
        return larder__fail(LARDER_ERR_CORRUPT,
                            "rule G4 is broken: %zu loose pages, counted %zu",
                            pages, loose->pages);
    if (mapped_pages + loose->pages != a->page_count)
        return larder__fail(LARDER_ERR_CORRUPT,
                            "rule G3 is broken: %zu pages are mapped and %zu "
                            "loose, of %zu",
                            mapped_pages, loose->pages, a->page_count);
    return LARDER_OK;
}
