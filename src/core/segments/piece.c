/* piece.c - reserved memory: acquired from the device in one piece, carved into
 * segments, released only with the allocator.
 *
 * A piece counts as one segment of the large pool when it is acquired; segments
 * carved from it are not counted again.
 *
 * A piece does not know streams: no queued work uses its free memory, because a
 * segment returns only after the work on its stream (larder__segment_release()).
 * So any heap may carve it, during a capture too. */
#include "core/peers/draw.h"
#include "core/segments/segment.h"

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "core/history/recording.h"
#include "core/state/held.h"

larder_result larder__piece_take(struct allocator *a, uint64_t bytes)
{
    struct piece *p;
    larder_result r;

    if (bytes == 0 || bytes > UINT64_MAX - ROUND_SEGMENT_BYTES)
        return larder__fail(LARDER_ERR_INVALID,
                            "a piece of %llu bytes cannot be reserved",
                            (unsigned long long)bytes);
    bytes = bits_up(bytes, ROUND_SEGMENT_BYTES);
    if (!held_allows(a, bytes))
        return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                            "reserving %llu bytes would exceed the limit of "
                            "%llu bytes",
                            (unsigned long long)bytes,
                            (unsigned long long)a->allowed_bytes);
    p = larder__host_alloc(1, sizeof *p);
    if (p == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__draw_memory(a, bytes, &p->addr);
    if (r != LARDER_OK) {
        larder__host_free(p);
        return r;
    }
    p->bytes = bytes;
    p->next = a->pieces;
    a->pieces = p;
    held_add(a, &a->pools[POOL_LARGE], bytes);
    metric_add(&a->stats.segment, STATS_LARGE, 1);
    if (a->history != NULL)
        larder__history_record(a, LARDER_ACTION_segment_alloc, p->addr, bytes,
                               0, NULL);
    return LARDER_OK;
}

/* Find the first gap of at least `bytes`: sets *addr, and *link to where the
 * part belongs in the list. */
static bool piece_find_gap(struct piece *p, uint64_t bytes, larder_addr *addr,
                           struct segment ***link)
{
    larder_addr at = p->addr;
    struct segment **l = &p->parts;

    for (; *l != NULL; l = &(*l)->piece_next) {
        larder__assert((*l)->piece == p && (*l)->addr >= at);
        if ((*l)->addr - at >= bytes)
            break;
        at = (*l)->addr + (*l)->bytes;
    }
    *addr = at;
    *link = l;
    larder__assert(at <= p->addr + p->bytes);
    return p->addr + p->bytes - at >= bytes;
}

larder_result larder__piece_carve(struct allocator *a, struct segment *s)
{
    struct segment **link;
    larder_addr addr;
    struct piece *p = a->pieces;

    while (p != NULL && !piece_find_gap(p, s->bytes, &addr, &link))
        p = p->next;
    if (p == NULL)
        return LARDER_ERR_OUT_OF_MEMORY;
    if (!larder__map_prepare(&a->map, &a->slab, addr, s->bytes,
                             s->heap->pool->is_small, 0))
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    larder__assert(addr >= p->addr && addr + s->bytes <= p->addr + p->bytes);
    larder__assert(*link == NULL || addr + s->bytes <= (*link)->addr);
    s->addr = addr;
    s->piece = p;
    s->piece_next = *link;
    *link = s;
    return LARDER_OK;
}

void larder__piece_return(struct segment *s)
{
    struct segment **link = &s->piece->parts;

    while (*link != s) {
        larder__assert(*link != NULL);
        link = &(*link)->piece_next;
    }
    *link = s->piece_next;
}

larder_result larder__pieces_release(struct allocator *a)
{
    larder_result r = LARDER_OK;

    while (a->pieces != NULL) {
        struct piece *p = a->pieces;

        fail_keep_first(&r, larder__return_memory(a, p->addr, p->bytes));
        a->pieces = p->next;
        larder__host_free(p);
    }
    return r;
}
