/* keep.h - reserves memory for one of a device's owners.  Private to core. */
#ifndef LARDER_CORE_ACCOUNT_KEEP_H
#define LARDER_CORE_ACCOUNT_KEEP_H

#include "core/state/allocator.h"

/* Set the minimum of an owner, releasing cached memory if necessary, which
 * destroys pools without users: to raise theirs is not allowed.
 * ERR_OUT_OF_MEMORY, with a message. */
larder_result larder__account_keep(struct allocator *a, struct holding *h,
                                   uint64_t bytes);

#endif
