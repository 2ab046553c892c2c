/* migration.h - the last step before an out-of-memory error: moves live pages,
 * at their addresses, out of handles that are mostly free.  Private to core. */
#pragma once

#include "core/policy_larder/own.h"

/* Release partly used handles, those with the largest free part first, until q
 * is not short of pages; q->heap has no room for it.  ERR_OUT_OF_MEMORY: moving
 * is not allowed or there are too few such handles, and nothing has changed; or
 * the device refused. */
larder_result larder__migrate(struct allocator *a, const struct request *q);
