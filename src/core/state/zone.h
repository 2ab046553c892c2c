/* zone.h - red zones around an allocation within its block, with the settings
 * debug:2 and 3.  Private to core.
 *
 *   block  [ red zone ][ what was asked for ][ red zone ]
 *          ^ addr      ^ the address that the program knows
 *
 * Each block says whether it has them; without, the program knows the block's
 * own address. */
#pragma once

#include "core/state/allocator.h"

/* Size of the zone before an allocation, and minimum size of the one after it:
 * a multiple of every policy's unit, so that addresses stay aligned. */
enum { ZONE_BYTES = 512 };

/* The address by which the program knows the block. */
static inline larder_addr zone_user(const struct block *b)
{
    return b->addr + (b->zones != ZONES_NONE ? ZONE_BYTES : 0);
}

/* The live or pending block that the program knows by this address.  NULL:
 * none. */
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
