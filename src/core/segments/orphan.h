/* orphan.h - memory that the device refused to take back.  Private to core.
 *
 * It is remembered and tried again before the next page is made, at every
 * larder_empty_cache() and at the end, so that a refusal loses nothing. */
#ifndef LARDER_CORE_ORPHAN_H
#define LARDER_CORE_ORPHAN_H

#include "core/state/allocator.h"

/* Make sure that `count` more pages can be held, and each of them, or one
 * driver allocation, can be remembered. */
bool larder__orphans_make_room(struct allocator *a, size_t count);

/* Release this, now or later.  Never fails; room was made. */
void larder__orphan_give(struct allocator *a, struct orphan orphan);

/* Try all again; goes on past refusals and returns the first. */
larder_result larder__orphans_release(struct allocator *a);

#endif
