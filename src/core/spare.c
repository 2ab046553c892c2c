#include "core/spare.h"

#include "base/bits.h"
#include "core/blocks.h"
#include "core/carve.h"
#include "core/physical.h"
#include "core/policy.h"
#include "core/quick.h"

enum {
    SPARE_PART = 64, /* of all there is */

    /* Smaller requests are of few sizes: each has blocks of its own soon. */
    SPARE_LEAST = 1 << (BINS_EXACT_LOG2 + BINS_UNIT_LOG2)
};

/* ---- giving --------------------------------------------------------------- */

uint64_t larder__spare_most(const struct allocator *a, const struct tally *t,
                            uint64_t bytes)
{
    const struct stats *st = &a->stats;
    int64_t here;
    int64_t room;

    if (bytes < SPARE_LEAST)
        return bytes;
    here = tally_spare(t);
    room = (int64_t)(larder__physical_most(a) / SPARE_PART) - here -
           (metric_all(&st->active_bytes) - metric_all(&st->requested_bytes));
    if (a->fronts.is_shared && room > a->fronts.allowance - here)
        room = a->fronts.allowance - here;
    return room > 0 ? bytes + (uint64_t)room : bytes;
}

/* ---- taking back ---------------------------------------------------------- */

static uint64_t bytes_needed(const struct allocator *a, const struct block *b)
{
    return bits_up(b->requested, a->policy->unit_bytes);
}

/* There is a header for what is cut off. */
static void cut_off(struct allocator *a, struct block *b)
{
    unsigned pool = b->segment->heap->pool->stats;
    struct block *rest = larder__block_split(a, b, bytes_needed(a, b));

    quick_note(b);
    metric_sub(&a->stats.allocated_bytes, pool, rest->bytes);
    metric_sub(&a->stats.active_bytes, pool, rest->bytes);
    rest->is_whole = true;
    (void)larder__uncarve(a, rest);
}

static bool take_back_from(struct allocator *a, const struct segment *s)
{
    bool any = false;

    for (struct block *b = s->head; b != NULL;
         b = slab_get(&a->slab, b->next)) {
        if (b->state != BLOCK_LIVE || b->bytes == bytes_needed(a, b))
            continue;
        if (!larder__slab_ensure(&a->slab, 1))
            return any;
        cut_off(a, b);
        any = true;
    }
    return any;
}

bool larder__spare_take_back(struct allocator *a)
{
    bool any = false;

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        if (s->kind == SEGMENT_PAGED)
            any |= take_back_from(a, s);
    }
    return any;
}
