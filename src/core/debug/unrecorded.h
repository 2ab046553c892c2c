/* unrecorded.h - finds uses of memory on streams that were not recorded, where
 * the device knows what is queued.  Private to core. */
#pragma once

#include "core/debug/debug.h"

/* Call it before the live block is freed: notes a finding if queued work uses
 * the block on a stream that neither the block's own stream nor a recorded one
 * waits for. */
void larder__unrecorded_check(struct allocator *a, const struct block *b);
