#include "core/grain.h"

#include "base/bits.h"
#include "core/pages.h"
#include "core/physical.h"

enum {
    /* A handle of several pages that is partly in use keeps the rest from
     * others: its part of all there is bounds what is lost so. */
    ROOMY_PART = 2560,
    VAST_PART = 1024, /* instead, from so many pages on */
    VAST_FROM = 32768,
    TIGHT_PART = 2048,
    ROOMY_MOST = 512, /* finding the end of a handle takes as many steps */
    TIGHT_MOST = 4,
    AGAIN_MOST = 6, /* where memory is given back and had anew */
    AGAIN_TIMES = 2,

    /* On devices of so many pages a heap that holds most of the memory has
     * larger ones.  On smaller ones a handle is too great a part; work that
     * fills larger ones has more layers, each of which loses some. */
    COARSE_FROM = 3072,
    COARSE_TO = 8192,
    COARSE_MOST = 15,
    COARSE_OTHERS_PART = 8, /* other heaps hold no more than such a part */
    COARSE_HEAP_PART = 16,  /* of the heap's pages, if a request lacks less */
    COARSE_ROOM_PART = 18,  /* of the room that is left */

    /* Small blocks are many and live long: between the large ones they would
     * keep a handle each. */
    COARSE_SMALL_MAX = 512 << 10
};

static size_t at_least_one(size_t pages)
{
    return pages > 0 ? pages : 1;
}

static size_t all_pages(const struct allocator *a)
{
    return (size_t)(larder__physical_most(a) / PAGE_BYTES);
}

bool larder__grain_is_coarse(const struct allocator *a)
{
    size_t pages = all_pages(a);

    return pages >= COARSE_FROM && pages <= COARSE_TO;
}

uint64_t larder__grain_small_max(const struct allocator *a)
{
    return a->is_paged && larder__grain_is_coarse(a)
               ? COARSE_SMALL_MAX
               : a->policy->small_max_bytes;
}

/* Who empties the cache over and over pays for each handle: a page more for
 * each second time that all there is was given back. */
static size_t made_again(const struct allocator *a, size_t pages)
{
    uint64_t times = pages == 0 ? 0 : a->pages_dropped / pages / AGAIN_TIMES;

    return times < AGAIN_MOST ? (size_t)times : AGAIN_MOST;
}

/* What any heap may have. */
static size_t fine(const struct allocator *a)
{
    size_t pages = all_pages(a);
    size_t part = bits_lesser(pages / TIGHT_PART, TIGHT_MOST);
    size_t roomy = pages / (pages >= VAST_FROM ? VAST_PART : ROOMY_PART);
    size_t again = made_again(a, pages);

    if (part < again)
        part = again;
    if (!a->is_tight && part < roomy)
        part = bits_lesser(roomy, ROOMY_MOST);
    return at_least_one(part);
}

size_t larder__grain_most(const struct allocator *a)
{
    size_t most = fine(a);

    return larder__grain_is_coarse(a) && most < COARSE_MOST ? COARSE_MOST
                                                            : most;
}

/* Whether other heaps hold so little that memory rarely moves between them. */
static bool has_most(const struct allocator *a, const struct segment *s)
{
    size_t others = a->page_count - a->loose.count - s->page_count;

    return others <= s->page_count / COARSE_OTHERS_PART;
}

/* Large ones, but no more than can be lost: not at the beginning of a heap,
 * whose first handle small blocks may keep, nor when little is left. */
static size_t coarse(const struct allocator *a, const struct request *q,
                     size_t missing)
{
    size_t part = q->block->segment->page_count / COARSE_HEAP_PART;

    if (part < missing && !q->heap->pool->is_small)
        part = missing;
    part = bits_lesser(part, larder__physical_room(a) / COARSE_ROOM_PART);
    return at_least_one(bits_lesser(part, COARSE_MOST));
}

size_t larder__grain(const struct allocator *a, const struct request *q,
                     size_t missing)
{
    if (!larder__grain_is_coarse(a))
        return fine(a);
    if (q->heap->pool->is_small || has_most(a, q->block->segment))
        return coarse(a, q, missing);
    return fine(a);
}
