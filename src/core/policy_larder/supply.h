/* supply.h - finds memory for a request that no free block can serve.  Private
 * to core. */
#pragma once

#include "core/policy_larder/own.h"

/* Make a free block that is large enough for q, remove it from its heap and
 * store it in q->block.
 *
 * The order: map new pages in the gap that misses fewest, while there is room;
 * move unused pages there.  Pages move before growing with defrag:eager, or
 * where growing would pass garbage_collection_threshold; with defrag:off they
 * never move.
 *
 * ERR_OUT_OF_MEMORY when all of that fails, with q->refused_by set; handles
 * acquired on the way may stay loose. */
larder_result larder__supply(struct allocator *a, struct request *q);
