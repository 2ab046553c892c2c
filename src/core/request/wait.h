/* wait.h - a request waits for what recorded streams still use.  Private to
 * core. */
#ifndef LARDER_CORE_REQUEST_WAIT_H
#define LARDER_CORE_REQUEST_WAIT_H

#include "core/state/allocator.h"

/* Wait until something that was freed on another stream can be used; false:
 * nothing is waited for, the device refuses, or the time is up that
 * reclaim_budget_ms gives a request (q->out_of_time). */
bool larder__request_wait_one(struct allocator *a, struct request *q);

/* Wait until what waits for recorded streams is within pending_limit, or as
 * above. */
void larder__request_push_back(struct allocator *a, struct request *q);

#endif
