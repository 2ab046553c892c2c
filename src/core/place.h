/* place.h - where in the free blocks of a heap a request goes, so that it takes
 * as few pages as it can.  Private to core. */
#ifndef LARDER_CORE_PLACE_H
#define LARDER_CORE_PLACE_H

#include "core/allocator.h"

struct place {
    struct block *block; /* free, in its heap */
    larder_addr addr;    /* at its beginning, or so that it ends with it */
};

/* The place that needs the fewest pages nothing else uses; of those the
 * smallest block, of those the lowest address.  `whole`: only where no page is
 * missing.  False: none. */
bool larder__place_find(const struct heap *heap, uint64_t size, bool whole,
                        struct place *out);

#endif
