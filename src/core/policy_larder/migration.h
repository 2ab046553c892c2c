/* migration.h - the last step before an out-of-memory: what lives is moved, at
 * its addresses, out of handles that are mostly free.  Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_MIGRATION_H
#define LARDER_CORE_POLICY_LARDER_MIGRATION_H

#include "core/policy_larder/own.h"

/* Release as many handles that are partly in use as q lacks pages, those
 * first that have the largest part free; q->heap has no room.
 * ERR_OUT_OF_MEMORY, and nothing was done: it is not allowed, there are not as
 * many, or the device refuses. */
larder_result larder__migrate(struct allocator *a, const struct request *q);

#endif
