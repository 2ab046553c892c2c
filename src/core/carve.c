#include "core/carve.h"

#include "core/front.h"
#include "core/place.h"

enum {
    OWN_LOOKS = 4, /* at blocks of the request's own class, which may be less */
    CLASSES = 4    /* looked into above it */
};

/* ---- finding -------------------------------------------------------------- */

/* A block of the bin that is large enough and lacks no page. */
static inline struct block *find_in_bin(const struct bins *bins, unsigned i,
                                        uint64_t size)
{
    struct block *b = bins->roots[i];

    for (int looks = OWN_LOOKS; b != NULL && looks > 0; looks--) {
        if (b->bytes >= size && b->is_whole)
            return b;
        if (!bins_is_list(bins, i))
            return NULL;
        b = b->left;
    }
    return NULL;
}

static inline struct block *find(const struct bins *bins, uint64_t size,
                                 unsigned *bin)
{
    unsigned i = bins_class(size);
    struct block *b = find_in_bin(bins, i, size);

    for (int classes = CLASSES; b == NULL && classes > 0; classes--) {
        i = bins_next_used(bins, i + 1);
        if (i == BINS_COUNT)
            return NULL;
        b = find_in_bin(bins, i, size);
    }
    *bin = i;
    return b;
}

/* ---- cutting -------------------------------------------------------------- */

/* Cut b, which lacks no page, so that it keeps `bytes`; returns the rest, as
 * larder__block_split() would. */
static inline struct block *cut(struct allocator *a, struct block *b,
                                uint64_t bytes)
{
    struct block *rest = front_take_used(a, b);

    rest->addr = b->addr + bytes;
    rest->bytes = b->bytes - bytes;
    rest->born = b->born;
    rest->segment = b->segment;
    rest->prev = b->self;
    rest->next = b->next;
    rest->state = BLOCK_FREE;
    rest->front = b->front;
    rest->is_whole = true;
    if (b->next != 0)
        slab_at(&a->slab, b->next)->prev = rest->self;
    b->next = rest->self;
    b->bytes = bytes;
    return rest;
}

/* Whether the end of b is a better place for `size` bytes than its beginning:
 * as in place.h. */
static inline bool high_end_is_better(const struct block *b, uint64_t size)
{
    size_t low = place_pages_taken(b, b->addr, size);

    return low > 0 &&
           place_pages_taken(b, b->addr + b->bytes - size, size) < low;
}

struct block *larder__carve(struct allocator *a, struct heap *heap,
                            uint64_t size)
{
    struct bins *bins = &heap->bins;
    struct block *rest;
    unsigned i;
    struct block *b = find(bins, size, &i);

    if (b == NULL || !front_has_header(a, heap))
        return NULL;
    bins_remove_listed(bins, i, b);
    if (b->bytes > size) {
        if (high_end_is_better(b, size)) {
            rest = b;
            b = cut(a, rest, rest->bytes - size);
        } else {
            rest = cut(a, b, size);
        }
        bins_insert_listed(bins, rest);
    }
    b->state = BLOCK_UNUSED;
    return b;
}

/* ---- merging -------------------------------------------------------------- */

/* b goes to the end of `low`, the block before it. */
static inline void join(struct allocator *a, struct block *low, struct block *b)
{
    low->bytes += b->bytes;
    low->is_whole = low->is_whole && b->is_whole;
    low->next = b->next;
    if (b->next != 0)
        slab_at(&a->slab, b->next)->prev = low->self;
    front_give_header(a, b);
}

struct block *larder__uncarve(struct allocator *a, struct block *b)
{
    struct heap *heap = b->segment->heap;
    struct bins *bins = &heap->bins;

    if (b->next != 0) {
        struct block *high = slab_at(&a->slab, b->next);

        if (high->state == BLOCK_FREE) {
            bins_remove_listed(bins, bins_class(high->bytes), high);
            join(a, b, high);
        }
    }
    if (b->prev != 0) {
        struct block *low = slab_at(&a->slab, b->prev);

        if (low->state == BLOCK_FREE) {
            bins_remove_listed(bins, bins_class(low->bytes), low);
            join(a, low, b);
            b = low;
        }
    }
    b->state = BLOCK_FREE;
    b->born = heap->pool->searches;
    bins_insert_listed(bins, b);
    return b;
}
