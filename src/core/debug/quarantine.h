/* quarantine.h - freed blocks that are kept from reuse for a while.  Private to
 * core.
 *
 * A block in quarantine is pending (block.h), with a hold of its own
 * (events.h), and filled with POISON_BYTE once its recorded streams have
 * passed.  The oldest blocks leave when others need the room and are checked
 * then: a changed byte was written after the block was freed. */
#pragma once

#include "core/debug/debug.h"

/* Call it before the block is freed: keeps it from reuse afterwards.  NULL: it
 * is too large, or there is no host memory. */
struct quarantined *larder__quarantine_keep(struct allocator *a,
                                            struct block *b);

/* Call it when the block is freed.  Blocks beyond the quarantine's size
 * leave. */
void larder__quarantine_begin(struct allocator *a, struct quarantined *q);

/* Check all blocks in quarantine; notes a finding. */
void larder__quarantine_check(struct allocator *a);

/* Remove the owner's blocks. */
void larder__quarantine_leave(struct allocator *a,
                              const struct private_pool *owner);

/* Remove all blocks.  Returns whether there were any. */
bool larder__quarantine_empty(struct allocator *a);
