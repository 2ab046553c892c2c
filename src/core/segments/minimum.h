/* minimum.h - what an owner of the device's memory is sure of.  Private to core. */
#ifndef LARDER_CORE_SEGMENTS_MINIMUM_H
#define LARDER_CORE_SEGMENTS_MINIMUM_H

#include "core/state/allocator.h"

/* Set the minimum of an owner, releasing cached memory if necessary, which
 * destroys pools without users: to raise theirs is not allowed.
 * ERR_OUT_OF_MEMORY, with a message. */
larder_result larder__minimum_set(struct allocator *a, struct holding *h,
                                  uint64_t bytes);

#endif
