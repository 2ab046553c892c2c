/* minimum.h - what an owner of the device's memory is sure of.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Set the minimum of an owner, releasing cached memory if necessary, which
 * destroys pools without users: to raise theirs is not allowed.
 * ERR_OUT_OF_MEMORY, with a message. */
larder_result larder__minimum_set(struct allocator *a, struct holding *h,
                                  uint64_t bytes);
