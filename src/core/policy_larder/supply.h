/* supply.h - memory for a request that no free block answers.  Private to
 * core. */
#ifndef LARDER_CORE_POLICY_LARDER_SUPPLY_H
#define LARDER_CORE_POLICY_LARDER_SUPPLY_H

#include "core/policy_larder/own.h"

/* Make a free block that is large enough for q, out of its heap: q->block.
 *
 * In this order: new pages where the heap lacks fewest, while there is room;
 * pages that nothing uses, moved there; whole handles of them at fresh
 * addresses.  With defrag:eager, or rather than pass a
 * garbage_collection_threshold, pages move first; with defrag:off never.
 *
 * ERR_OUT_OF_MEMORY, with q->over_limit, when that is all; what was got may be
 * loose then. */
larder_result larder__supply(struct allocator *a, struct request *q);

#endif
