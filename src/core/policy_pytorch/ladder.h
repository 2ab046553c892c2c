/* ladder.h - steps that the ladders of the larder policy share: what is tried
 * when neither the cache nor the device has room.  Private to core. */
#ifndef LARDER_CORE_LADDER_H
#define LARDER_CORE_LADDER_H

#include "core/state/allocator.h"

/* Refuse a hopeless request, without asking the device: ERR_OUT_OF_MEMORY. */
larder_result larder__ladder_refuse(struct allocator *a, struct request *q);

/* Wait until something that was freed on another stream can be used; false:
 * nothing is waited for, the device refuses, or the time is up that
 * reclaim_budget_ms gives a request (q->out_of_time). */
bool larder__ladder_wait_one(struct allocator *a, struct request *q);

#endif
