/* spot.c - finds handles that nothing uses, and unmaps them. */
#include "core/policy_larder/spot.h"

#include <string.h>

#include "base/bits.h"
#include "base/fail.h"
#include "core/policy_larder/carry.h"
#include "core/pools/pool.h"
#include "core/segments/order.h"

/* ---- the list --------------------------------------------------------------- */

static size_t size_list(size_t pages)
{
    return pages < SPOT_SIZES ? pages : 0;
}

/* Begin a new choice. */
static void plan_anew(struct spots *spots, struct spot_except except)
{
    memset(spots->rest, 0xff, sizeof spots->rest); /* SPOT_NONE */
    spots->open = spots->sizes;
    spots->chosen_begin = SIZE_MAX;
    spots->chosen_end = 0;
    spots->except = except;
}

void larder__spots_clear(struct spots *spots)
{
    spots->count = 0;
    for (size_t n = 0; n < SPOT_SIZES; n++) {
        spots->first[n] = SPOT_NONE;
        spots->end[n] = &spots->first[n];
    }
    spots->sizes = 0;
    plan_anew(spots, (struct spot_except){0});
}

/* Write the i-th spot and append it to the list of its size.  Returns the bit of
 * that list.  Called for each of many spots, so it has no branch, and what the
 * caller keeps in registers it leaves there. */
static inline uint64_t append(struct spots *spots, size_t i, struct block *b,
                              size_t begin, size_t pages)
{
    size_t n = size_list(pages);
    struct spot *s = &spots->list[i];

    larder__assert(pages > 0 && pages < SPOT_NONE && i < SPOT_NONE);
    *s = (struct spot){
        .block = b,
        .begin = (uint32_t)begin,
        .pages = (uint32_t)pages,
        .next = SPOT_NONE,
    };
    *spots->end[n] = (uint32_t)i;
    spots->end[n] = &s->next;
    return UINT64_C(1) << n;
}

static void count_appended(struct spots *spots, size_t count, uint64_t sizes)
{
    spots->count = count;
    spots->sizes |= sizes;
    spots->open |= sizes;
}

void larder__spots_add(struct spots *spots, struct block *b, size_t begin,
                       size_t pages)
{
    uint64_t size = append(spots, spots->count, b, begin, pages);

    count_appended(spots, spots->count + 1, size);
}

/* ---- finding spots --------------------------------------------------------- */

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

/* Add the handles of these pages.  Returns how many of `lent` pages are left. */
static size_t find_in_block(struct allocator *a, struct block *b,
                            struct page_span span, size_t lent)
{
    struct spots *spots = &a->larder->spots;
    const struct page_extent *extents = b->segment->extents;
    size_t count = spots->count;
    uint64_t sizes = 0;
    size_t begin;

    for (size_t end = span.end; end > span.begin; end = begin) {
        begin = extents[end - 1].begin;
        if (end - begin > lent ||
            carry_withholds_pages(a, b->segment,
                                  (struct page_span){begin, end}))
            continue;
        lent -= end - begin;
        larder__assert(count < a->larder->capacity);
        sizes |= append(spots, count++, b, begin, end - begin);
    }
    count_appended(spots, count, sizes);
    return lent;
}

/* Blocks below PAGE_BYTES contain no whole page. */
static void find_in_heap(struct allocator *a, const struct heap *heap,
                         size_t *lent)
{
    if (heap->fit == NULL || heap->page_count == 0)
        return;
    for (struct fit_place at = fit_from(heap->fit, PAGE_BYTES);
         at.block != NULL; at = fit_after(heap->fit, at)) {
        struct page_span span = pages_movable(at.block);

        if (span.end != 0)
            *lent = find_in_block(a, at.block, span, *lent);
    }
}

void larder__spots_find(struct allocator *a)
{
    size_t lent = lent_pages(a, &a->account.cache);

    larder__spots_clear(&a->larder->spots);
    for (int kind = 0; kind < POOL_KINDS; kind++) {
        struct pool *pool = &a->pools[kind];

        larder__stocked_tidy(pool);
        for (uint32_t i = 0; i < pool->stocked_count; i++)
            find_in_heap(a, pool->stocked[i], &lent);
    }
    if (a->privates.regions == 0)
        return;
    for (const struct private_pool *p = a->privates.first; p != NULL;
         p = p->next) {
        if (p->region == NULL || p->is_paused)
            continue;
        lent = lent_pages(a, &p->holding);
        find_in_heap(a, p->pools[POOL_LARGE].heaps[0], &lent);
    }
}

void larder__spots_find_of(struct allocator *a, const struct heap *heap)
{
    size_t all = SIZE_MAX;

    larder__spots_clear(&a->larder->spots);
    find_in_heap(a, heap, &all);
}

void larder__spots_add_loose(struct allocator *a)
{
    const struct loose *loose = &a->larder->loose;

    larder__assert(a->larder->spots.count + loose->handles <=
                   a->larder->capacity);
    for (size_t i = 0; i < loose->handles; i++)
        larder__spots_add(&a->larder->spots, NULL, 0, loose->list[i].pages);
}

/* ---- choosing a spot ------------------------------------------------------- */

void larder__spots_choose_one(struct spots *spots, struct spot *s)
{
    size_t i = (size_t)(s - spots->list);

    larder__assert(i < spots->count);
    s->is_chosen = true;
    if (i < spots->chosen_begin)
        spots->chosen_begin = i;
    if (i >= spots->chosen_end)
        spots->chosen_end = i + 1;
}

void larder__spots_except(struct allocator *a, struct spot_except except)
{
    struct spots *spots = &a->larder->spots;

    for (size_t i = spots->chosen_begin; i < spots->chosen_end; i++)
        spots->list[i].is_chosen = false;
    plan_anew(spots, except);
}

static bool is_excepted(const struct spots *spots, const struct spot *s)
{
    struct page_span handle = {s->begin, s->begin + s->pages};

    return s->block != NULL &&
           spot_is_excepted(&spots->except, s->block->segment, handle);
}

size_t larder__spots_pages(const struct spots *spots)
{
    size_t pages = 0;

    for (size_t i = 0; i < spots->count; i++)
        pages += is_excepted(spots, &spots->list[i]) ? 0 : spots->list[i].pages;
    return pages;
}

size_t larder__spots_unused(struct allocator *a, struct spot_except except)
{
    larder__spots_find(a);
    larder__spots_except(a, except);
    return a->larder->loose.pages + larder__spots_pages(&a->larder->spots);
}

/* What is not available stays so until larder__spots_except(). */
static bool spot_is_available(const struct spots *spots, const struct spot *s)
{
    return !s->is_chosen && !is_excepted(spots, s);
}

/* The first available spot of a size from index i on, or SPOT_NONE. */
static uint32_t available_from(const struct spots *spots, uint32_t i)
{
    while (i != SPOT_NONE && !spot_is_available(spots, &spots->list[i]))
        i = spots->list[i].next;
    return i;
}

/* The first available spot in list n. */
static struct spot *first_in(struct spots *spots, size_t n)
{
    uint32_t i = spots->rest[n];

    if ((spots->open >> n & 1) == 0)
        return NULL;
    i = available_from(spots, i == SPOT_NONE ? spots->first[n] : i);
    spots->rest[n] = i;
    if (i != SPOT_NONE)
        return &spots->list[i];
    spots->open &= ~(UINT64_C(1) << n);
    return NULL;
}

static struct spot *next_in_list(const struct spots *spots,
                                 const struct spot *s)
{
    uint32_t i = available_from(spots, s->next);

    return i == SPOT_NONE ? NULL : &spots->list[i];
}

/* The best of the spots of SPOT_SIZES pages or more: the largest of at most
 * `max` pages, or, with max 0, the smallest. */
static struct spot *best_of_large(struct spots *spots, size_t max)
{
    struct spot *best = NULL;

    for (struct spot *s = first_in(spots, 0); s != NULL;
         s = next_in_list(spots, s)) {
        bool is_better = best == NULL || (max == 0 ? s->pages < best->pages
                                                   : s->pages > best->pages);

        if (is_better && (max == 0 || s->pages <= max))
            best = s;
    }
    return best;
}

/* The lists of 1 to `max` pages that may have an available spot. */
static uint64_t open_sizes(const struct spots *spots, size_t max)
{
    uint64_t to_max = UINT64_MAX >> (SPOT_SIZES - 1 - max);

    larder__assert(max < SPOT_SIZES);
    return spots->open & to_max & ~UINT64_C(1);
}

struct spot *larder__spots_largest(struct spots *spots, size_t pages)
{
    size_t max = bits_lesser(pages, SPOT_SIZES - 1);
    struct spot *best = NULL;
    uint64_t open;

    if (pages > max)
        best = best_of_large(spots, pages);
    while (best == NULL && (open = open_sizes(spots, max)) != 0)
        best = first_in(spots, (size_t)bits_log2(open));
    return best;
}

struct spot *larder__spots_smallest(struct spots *spots)
{
    struct spot *best = NULL;
    uint64_t open;

    while (best == NULL && (open = open_sizes(spots, SPOT_SIZES - 1)) != 0)
        best = first_in(spots, (size_t)bits_lowest(open));
    return best != NULL ? best : best_of_large(spots, 0);
}

void larder__spots_choose_all(struct allocator *a)
{
    struct spots *spots = &a->larder->spots;

    for (size_t i = 0; i < spots->count; i++)
        larder__spots_choose_one(spots, &spots->list[i]);
}

void larder__spots_choose(struct allocator *a, size_t pages)
{
    struct spots *spots = &a->larder->spots;

    while (pages > 0) {
        struct spot *s = larder__spots_largest(spots, pages);

        if (s == NULL && (s = larder__spots_smallest(spots)) == NULL)
            return;
        larder__spots_choose_one(spots, s);
        pages -= s->pages < pages ? s->pages : pages;
    }
}

/* ---- unmapping ------------------------------------------------------------- */

/* How many chosen spots from index i on are adjacent, so that one call unmaps
 * them. */
static size_t run_length(const struct spots *spots, size_t i)
{
    const struct spot *list = spots->list;
    size_t end = i + 1;

    while (end < spots->chosen_end && list[end].is_chosen &&
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
        r = larder__order_pass(a, heap);
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
    for (size_t i = spots->chosen_begin;
         i < spots->chosen_end && r == LARDER_OK; i += length) {
        const struct spot *s = &spots->list[i];

        length = 1;
        if (!s->is_chosen || s->block == NULL)
            continue;
        length = run_length(spots, i);
        r = unmap_run(a, i, length, &waited);
    }
    return r;
}
