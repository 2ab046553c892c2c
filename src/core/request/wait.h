/* wait.h - waiting for memory that recorded streams still use.  Private to
 * core. */
#pragma once

#include "core/state/allocator.h"

/* Wait until a pending block becomes free.  False: there is none, the device
 * reports an error, or the request's reclaim_budget_ms has passed
 * (q->out_of_time). */
bool larder__request_wait_one(struct allocator *a, struct request *q);

/* Wait until pending memory is within pending_limit, or until the above returns
 * false. */
void larder__request_limit_pending(struct allocator *a, struct request *q);
