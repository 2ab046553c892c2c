/* unrecorded.h - uses of memory on streams that were not recorded for it, where
 * the device knows what is queued.  Private to core. */
#ifndef LARDER_CORE_DEBUG_UNRECORDED_H
#define LARDER_CORE_DEBUG_UNRECORDED_H

#include "core/debug/debug.h"

/* The live block is about to be freed: notes a finding if work that uses it is
 * queued where neither its stream nor a recorded one waits for it. */
void larder__unrecorded_check(struct allocator *a, const struct block *b);

#endif
