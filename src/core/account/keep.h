/* keep.h - memory kept for one of a device's owners.  Private to core. */
#ifndef LARDER_CORE_KEEP_H
#define LARDER_CORE_KEEP_H

#include "core/state/allocator.h"

/* Keep so much for an owner of the allocator, releasing what is cached if it
 * takes that.  ERR_OUT_OF_MEMORY, with the words. */
larder_result larder__account_keep(struct allocator *a, struct holding *h,
                                   uint64_t bytes);

#endif
