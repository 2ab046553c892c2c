#include "core/fast.h"

#include "core/carve.h"
#include "core/local.h"
#include "core/spare.h"
#include "core/trim_age.h"

/* Blocks that recorded streams use may wait a little longer, as who wants more
 * memory asks first: whether it is time to ask all the same. */
enum { PATIENCE = 32 };

static bool is_due(const struct allocator *a, struct front *f)
{
    if (!a->fronts.has_waiting || f->unasked++ < PATIENCE)
        return false;
    f->unasked = 0;
    return true;
}

/* What a carve does not answer: a place that lacks no page, else the lists'
 * blocks merged until there is one. */
static struct block *search(struct allocator *a, struct heap *heap,
                            uint64_t size)
{
    struct block *b = larder__local_place(a, heap, size);

    return b != NULL ? b : larder__local_take_merging(a, heap, size);
}

/* Looking for the best place is for the long way, and so is taking headers from
 * where all do.  Events that wait are asked about before any search. */
static struct block *cut(struct allocator *a, struct heap *heap, uint64_t size)
{
    struct block *b;

    if (a->is_tight || !front_has_header(a, heap))
        return NULL;
    b = larder__carve(a, heap, size);
    if (b != NULL)
        trim_touch(a, b);
    else if (!a->fronts.has_waiting)
        b = search(a, heap, size);
    if (b == NULL)
        return NULL;
    lifetimes_forget(b);
    quick_note(b);
    map_put(&a->map, b);
    return b;
}

bool larder__fast_alloc(struct allocator *a, struct front *f, uint64_t bytes,
                        larder_addr *out)
{
    uint64_t size = bits_up(bytes, FAST_UNIT);
    enum pool_kind kind = fast_kind(a, size);
    struct heap *heap = f->heaps[kind];
    struct tally *tally;
    struct block *b;

    if (bytes - 1 >= a->fronts.most_bytes || heap == NULL || is_due(a, f))
        return false;
    tally = front_tally(a, f, (int64_t)size);
    if (tally == NULL)
        return false;
    b = larder__quick_take_near(heap->quick, size,
                                larder__spare_most(a, tally, size));
    if (b == NULL)
        b = cut(a, heap, size);
    if (b == NULL)
        return false;
    fast_hand_out(b, bytes, out);
    tally_add(tally, kind, b->bytes, bytes);
    return true;
}

bool larder__fast_free(struct allocator *a, struct front *f,
                       const map_granule *granule, struct block *b)
{
    struct tally *tally = front_tally(a, f, -(int64_t)b->bytes);

    if (tally == NULL)
        return false;
    tally_sub(tally, fast_kind(a, b->bytes), b->bytes, b->requested);
    map_remove_in(granule, b);
    lifetimes_give(&b->segment->heap->lifetimes, b);
    (void)larder__uncarve(a, b);
    return true;
}
