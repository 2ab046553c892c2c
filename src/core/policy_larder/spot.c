#include "core/policy_larder/spot.h"

#include "base/fail.h"
#include "core/pools/stocked.h"
#include "core/segments/events.h"

/* ---- finding spots --------------------------------------------------------- */

static void spot_add(struct allocator *a, struct block *b, size_t begin,
                     size_t pages)
{
    struct spots *spots = &a->larder->spots;
    struct spot *s = &spots->list[spots->count++];

    larder__assert(spots->count <= a->larder->capacity);
    larder__assert(pages > 0);
    s->block = b;
    s->begin = begin;
    s->pages = pages;
    s->is_chosen = false;
    s->is_excepted = false;
}

/* How many mapped pages may move from this owner to another: those beyond its
 * minimum.  Loose pages are lent first, so they are subtracted. */
static size_t lent_pages(const struct allocator *a, const struct holding *h)
{
    size_t spare = holding_spare(h) / PAGE_BYTES;
    size_t loose = h == &a->account.cache ? a->larder->loose.pages : 0;

    if (h == account_drawer(&a->account))
        return SIZE_MAX;
    return spare > loose ? spare - loose : 0;
}

static void find_in_block(struct allocator *a, struct block *b, size_t *lent)
{
    struct page_span span = larder__pages_movable(b);
    size_t begin;

    for (size_t end = span.end; end > span.begin; end = begin) {
        begin = page_handle_begin(b->segment, end - 1);
        if (end - begin > *lent)
            continue;
        *lent -= end - begin;
        spot_add(a, b, begin, end - begin);
    }
}

/* Free pages of the block whose handles are partly in use outside it. */
static size_t stranded_in(const struct block *b)
{
    struct page_span all = pages_within(b->segment, b->addr, b->bytes);
    struct page_span movable = larder__pages_movable(b);

    if (all.end <= all.begin)
        return 0;
    return (all.end - all.begin) - (movable.end - movable.begin);
}

/* Blocks below PAGE_BYTES contain no whole page. */
static void find_in_heap(struct allocator *a, const struct heap *heap,
                         size_t *lent)
{
    if (heap->fit == NULL || heap->page_count == 0)
        return;
    for (struct block *b = fit_from(heap->fit, PAGE_BYTES); b != NULL;
         b = fit_after(heap->fit, b)) {
        find_in_block(a, b, lent);
        a->larder->spots.stranded += stranded_in(b);
    }
}

void larder__spots_find(struct allocator *a)
{
    size_t lent = lent_pages(a, &a->account.cache);

    a->larder->spots.count = 0;
    a->larder->spots.stranded = 0;
    for (int kind = 0; kind < POOL_KINDS; kind++) {
        struct pool *pool = &a->pools[kind];

        larder__stocked_tidy(a, pool);
        for (uint32_t i = 0; i < pool->stocked_count; i++)
            find_in_heap(a, pool->stocked[i], &lent);
    }
    if (a->privates.regions == 0)
        return;
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        if (p->region == NULL)
            continue;
        lent = lent_pages(a, &p->holding);
        find_in_heap(a, p->pools[POOL_LARGE].heaps[0], &lent);
    }
}

void larder__spots_find_of(struct allocator *a, const struct heap *heap)
{
    size_t all = SIZE_MAX;

    a->larder->spots.count = 0;
    a->larder->spots.stranded = 0;
    find_in_heap(a, heap, &all);
}

void larder__spots_add_loose(struct allocator *a)
{
    const struct loose *loose = &a->larder->loose;

    for (size_t i = 0; i < loose->handles; i++)
        spot_add(a, NULL, 0, loose->list[i].pages);
}

/* ---- choosing a spot ------------------------------------------------------- */

void larder__spots_except(struct allocator *a, struct spot_except except)
{
    struct spots *spots = &a->larder->spots;

    for (size_t i = 0; i < spots->count; i++) {
        struct spot *s = &spots->list[i];
        struct page_span handle = {s->begin, s->begin + s->pages};

        s->is_chosen = false;
        s->is_excepted = s->block != NULL &&
                         spot_is_excepted(&except, s->block->segment, handle);
    }
}

size_t larder__spots_pages(const struct spots *spots)
{
    size_t pages = 0;

    for (size_t i = 0; i < spots->count; i++)
        pages += spots->list[i].is_excepted ? 0 : spots->list[i].pages;
    return pages;
}

static bool spot_is_available(const struct spot *s)
{
    return !s->is_chosen && !s->is_excepted;
}

/* The first available spot of exactly `pages` pages, from index i on. */
static struct spot *equal_from(const struct spots *spots, size_t i,
                               size_t pages)
{
    for (; i < spots->count; i++) {
        if (spots->list[i].pages == pages && spot_is_available(&spots->list[i]))
            return &spots->list[i];
    }
    return NULL;
}

struct spot *larder__spots_largest(const struct spots *spots, size_t pages,
                                   const struct spot *last)
{
    struct spot *best = NULL;

    if (last != NULL && last->pages <= pages) {
        best = equal_from(spots, (size_t)(last - spots->list) + 1, last->pages);
        if (best != NULL)
            return best;
        pages = last->pages - 1;
    }
    for (size_t i = 0; i < spots->count; i++) {
        struct spot *s = &spots->list[i];

        if (s->pages > pages || (best != NULL && s->pages <= best->pages) ||
            !spot_is_available(s))
            continue;
        best = s;
        if (s->pages == pages)
            break;
    }
    return best;
}

struct spot *larder__spots_smallest(const struct spots *spots)
{
    struct spot *best = NULL;

    for (size_t i = 0; i < spots->count; i++) {
        struct spot *s = &spots->list[i];

        if (spot_is_available(s) && (best == NULL || s->pages < best->pages))
            best = s;
    }
    return best;
}

void larder__spots_choose_all(struct allocator *a)
{
    struct spots *spots = &a->larder->spots;

    for (size_t i = 0; i < spots->count; i++)
        spots->list[i].is_chosen = true;
}

void larder__spots_choose(struct allocator *a, size_t pages)
{
    const struct spots *spots = &a->larder->spots;
    struct spot *s = NULL;

    while (pages > 0) {
        s = larder__spots_largest(spots, pages, s);
        if (s == NULL && (s = larder__spots_smallest(spots)) == NULL)
            return;
        s->is_chosen = true;
        pages -= s->pages < pages ? s->pages : pages;
    }
}

static const struct heap *heap_of(const struct spot *s)
{
    return s->block == NULL ? NULL : s->block->segment->heap;
}

/* Exclude the spots of one heap, which begin at index i, unless one of them is
 * chosen and the heap is no private pool's.  Returns their number. */
static size_t except_untouched(struct spots *spots, size_t i)
{
    const struct heap *heap = heap_of(&spots->list[i]);
    bool is_touched = heap == NULL;
    size_t end = i;

    for (; end < spots->count && heap_of(&spots->list[end]) == heap; end++)
        is_touched = is_touched || spots->list[end].is_chosen;
    if (heap != NULL && heap->pool->owner != NULL)
        is_touched = false;
    for (size_t k = i; k < end && !is_touched; k++)
        spots->list[k].is_excepted = true;
    return end - i;
}

void larder__spots_choose_large(struct allocator *a, size_t pages, size_t above)
{
    struct spots *spots = &a->larder->spots;
    size_t chosen = 0;

    for (size_t i = 0; i < spots->count; i++) {
        const struct spot *s = &spots->list[i];

        chosen += s->is_chosen && s->pages > above ? s->pages : 0;
    }
    if (chosen >= pages)
        return;
    for (size_t i = 0; i < spots->count;)
        i += except_untouched(spots, i);
    for (struct spot *s = NULL; chosen < pages; chosen += s->pages) {
        s = larder__spots_largest(spots, SIZE_MAX, s);
        if (s == NULL || s->pages <= above)
            return;
        s->is_chosen = true;
    }
}

/* ---- unmapping ------------------------------------------------------------- */

/* How many chosen spots from index i on are adjacent, so that one call unmaps
 * them. */
static size_t run_length(const struct spots *spots, size_t i)
{
    const struct spot *list = spots->list;
    size_t end = i + 1;

    while (end < spots->count && list[end].is_chosen &&
           list[end].block == list[i].block &&
           list[end].begin + list[end].pages == list[end - 1].begin)
        end++;
    return end - i;
}

static larder_result wait_for(struct allocator *a, const struct heap *heap,
                              const struct heap **waited)
{
    larder_result r = LARDER_OK;

    if (*waited != heap)
        r = larder__events_pass(a, heap->stream);
    *waited = heap;
    return r;
}

static larder_result unmap_run(struct allocator *a, size_t i, size_t length,
                               const struct heap **waited)
{
    const struct spot *first = &a->larder->spots.list[i];
    struct page_span run = {first[length - 1].begin,
                            first->begin + first->pages};
    larder_result r;

    larder__assert(length > 0 && run.begin < run.end);
    larder__assert(first->is_chosen && first->block->state == BLOCK_FREE);
    if (!larder__slab_ensure(&a->slab, PAGES_HEADERS + SLAB_SPARE))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = wait_for(a, first->block->segment->heap, waited);
    return r == LARDER_OK ? larder__pages_unmap(a, first->block, run) : r;
}

larder_result larder__spots_unmap(struct allocator *a)
{
    const struct spots *spots = &a->larder->spots;
    const struct heap *waited = NULL;
    larder_result r = LARDER_OK;
    size_t length;

    larder__assert(allocator_is_locked(a));
    for (size_t i = 0; i < spots->count && r == LARDER_OK; i += length) {
        const struct spot *s = &spots->list[i];

        length = 1;
        if (!s->is_chosen || s->block == NULL)
            continue;
        length = run_length(spots, i);
        r = unmap_run(a, i, length, &waited);
    }
    return r;
}
