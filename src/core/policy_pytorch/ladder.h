/* ladder.h - steps that the policies' ladders share, for when neither the cache
 * nor the device has room.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Refuse a hopeless request without asking the device: ERR_OUT_OF_MEMORY. */
larder_result larder__ladder_refuse(struct allocator *a, struct request *q);

/* Wait for all pending blocks, within reclaim_budget_ms, and release everything
 * cached. */
void larder__ladder_release(struct allocator *a, struct request *q);
