/* zone.h - red zones: what lies around an allocation in its block, under the
 * setting debug:2 and above.  Private to core.
 *
 *   block  [ red zone ][ what was asked for ][ red zone ]
 *          ^ addr      ^ the address that the program knows
 *
 * Which blocks have them is said by the block: others' addresses are the
 * program's. */
#ifndef LARDER_CORE_ZONE_H
#define LARDER_CORE_ZONE_H

#include "core/state/allocator.h"

/* Before an allocation, and behind it at least: a multiple of every policy's
 * unit, so that addresses stay aligned. */
enum { ZONE_BYTES = 512 };

/* What the program knows the block by. */
static inline larder_addr zone_user(const struct block *b)
{
    return b->addr + (b->zones != ZONES_NONE ? ZONE_BYTES : 0);
}

/* The block, in use, that the program knows by this address; NULL: none. */
static inline struct block *zone_find(struct allocator *a, larder_addr addr)
{
    struct block *b = map_find(&a->map, &a->slab, addr);

    if (b != NULL && b->zones == ZONES_NONE)
        return b;
    if (a->debug == NULL || addr < ZONE_BYTES)
        return NULL;
    b = map_find(&a->map, &a->slab, addr - ZONE_BYTES);
    return b != NULL && b->zones != ZONES_NONE ? b : NULL;
}

#endif
