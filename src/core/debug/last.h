/* last.h - debug:3: what is freed last, or never.  Private to core. */
#ifndef LARDER_CORE_DEBUG_LAST_H
#define LARDER_CORE_DEBUG_LAST_H

#include "core/debug/debug.h"

/* Memory is to come from the device in handles of one page each, on a device
 * of any size, so that all whole pages of a block can go back alone.  Before
 * the first of it is had. */
void larder__stale_begin(struct allocator *a);

/* Whether the live block has memory that goes back to the device with it, so
 * that its address faults instead of finding what came after it. */
bool larder__stale_goes(struct allocator *a, const struct block *b);

/* Give back what is free of this pool. */
void larder__stale_release(struct allocator *a, struct pool *pool);

/* The allocator goes: what was not freed is a finding, with the place of the
 * largest. */
void larder__leaks_note(struct allocator *a);

#endif
