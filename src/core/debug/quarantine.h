/* quarantine.h - freed blocks that are not reused for a while.  Private to
 * core.
 *
 * A block in quarantine is pending (block.h) by a hold of its own (events.h),
 * filled with POISON_BYTE once its recorded streams have passed.  It leaves when
 * others need the room, the oldest first, and is looked at then: what is not as
 * it was filled was written after the block was freed. */
#ifndef LARDER_CORE_DEBUG_QUARANTINE_H
#define LARDER_CORE_DEBUG_QUARANTINE_H

#include "core/debug/debug.h"

/* Before it is freed: keep the live block from reuse from then on; NULL: it is
 * too large, or there is no host memory. */
struct quarantined *larder__quarantine_keep(struct allocator *a,
                                            struct block *b);

/* It is freed now.  What goes beyond the room there is leaves. */
void larder__quarantine_begin(struct allocator *a, struct quarantined *q);

/* Look at all that is in it; notes a finding. */
void larder__quarantine_check(struct allocator *a);

/* What is of the owner's leaves. */
void larder__quarantine_leave(struct allocator *a,
                              const struct private_pool *owner);

/* All of it leaves.  Whether there was any. */
bool larder__quarantine_empty(struct allocator *a);

#endif
