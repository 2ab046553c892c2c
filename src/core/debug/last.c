/* last.c - debug:3: addresses of freed memory fault, and leaks are reported. */
#include "core/debug/debug.h"

#include <inttypes.h>

#include "core/segments/order.h"
#include "core/segments/release.h"
#include "core/state/paged.h"
#include "core/state/zone.h"

/* ---- stale addresses ---------------------------------------------------------- */

void larder__stale_begin(struct allocator *a)
{
    a->conf.handle_mib = 2; /* one page */
}

static bool is_alone(struct allocator *a, const struct block *b)
{
    for (const struct block *other = b->segment->head; other != NULL;
         other = block_next(a, other)) {
        if (other != b && other->state != BLOCK_FREE)
            return false;
    }
    return true;
}

/* Of any two pages, one contains no part of another block. */
bool larder__stale_applies(struct allocator *a, const struct block *b)
{
    const struct segment *s = b->segment;

    const struct private_pool *owner = s->heap->pool->owner;

    if (b->zones == ZONES_NONE || b->uses != NULL ||
        allocator_is_capturing(a) || segment_is_paused(s) ||
        /* Free memory of a graph's pool may be in use. */
        (owner != NULL && owner->has_graph))
        return false;
    if (s->kind == SEGMENT_DRIVER)
        return is_alone(a, b);
    return s->page_bytes != 0 && b->bytes >= 2 * s->page_bytes;
}

void larder__stale_release(struct allocator *a, struct pool *pool)
{
    (void)larder__release_pool(a, pool); /* what is not released stays free */
    larder__paged_release_loose(a);
}

/* ---- leaks ---------------------------------------------------------------------- */

struct leaks {
    uint64_t count;
    uint64_t bytes;
    const struct block *largest;
};

/* Committed blocks of a region are not leaks. */
static bool is_leaked(const struct block *b)
{
    const struct private_pool *owner = b->segment->heap->pool->owner;

    return b->state == BLOCK_LIVE && (owner == NULL || owner->region == NULL);
}

static struct leaks leaks_find(struct allocator *a)
{
    struct leaks l = {0};

    for (const struct segment *s = a->segments; s != NULL; s = s->next) {
        for (const struct block *b = s->head; b != NULL; b = block_next(a, b)) {
            if (!is_leaked(b))
                continue;
            l.count++;
            l.bytes += b->requested;
            if (l.largest == NULL || b->requested > l.largest->requested)
                l.largest = b;
        }
    }
    return l;
}

void larder__leaks_note(struct allocator *a)
{
    struct leaks l = leaks_find(a);

    if (l.count == 0)
        return;
    larder__finding_note(a, l.largest, LARDER_ERR_LEAKED,
                         "%" PRIu64 " allocations of %" PRIu64
                         " bytes in total were not freed; "
                         "the largest, at 0x%" PRIx64 ", has %" PRIu64
                         " bytes on stream %" PRIu64,
                         l.count, l.bytes, zone_user(l.largest),
                         l.largest->requested, block_stream(l.largest));
}
