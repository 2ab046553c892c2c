/* oom.h - explains and reports a failed request.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Count the failure, call the observers, and return ERR_OUT_OF_MEMORY with the
 * explanation; with `is_explained` the last error is that already.  Drops and
 * retakes the locks. */
larder_result larder__out_of_memory(struct allocator *a,
                                    const struct request *q, bool is_explained);

/* Run the reclaim callbacks without the lock.  Returns whether one of them
 * freed something. */
bool larder__run_reclaims(struct allocator *a);
