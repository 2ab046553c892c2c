/* last.h - debug:3: addresses of freed memory fault, and leaks are reported.
 * Private to core. */
#pragma once

#include "core/debug/debug.h"

/* Make memory come from the device in handles of one page each, whatever the
 * device's size, so that all whole pages of a block can be released alone.
 * Call it before any memory is acquired. */
void larder__stale_begin(struct allocator *a);

/* Whether the live block has memory that is released together with it, so that
 * its address faults instead of accessing a later block. */
bool larder__stale_applies(struct allocator *a, const struct block *b);

/* Release the free memory of this pool. */
void larder__stale_release(struct allocator *a, struct pool *pool);

/* Call it when the allocator is destroyed: notes a finding if memory was not
 * freed, with the origin of the largest block. */
void larder__leaks_note(struct allocator *a);
