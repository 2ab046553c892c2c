/* owners.h - what the owners of a device's memory hold, and the
 * public calls on that.  Private to core. */
#ifndef LARDER_CORE_ACCOUNT_OWNERS_H
#define LARDER_CORE_ACCOUNT_OWNERS_H

#include <larder/account.h>

#include "core/state/allocator.h"

/* Keep so much for an owner of the allocator, giving back what is cached if it
 * takes that.  ERR_OUT_OF_MEMORY, with the words. */
larder_result larder__account_keep(struct allocator *a, struct holding *h,
                                   uint64_t bytes);

#endif
