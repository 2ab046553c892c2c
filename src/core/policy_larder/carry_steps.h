/* carry_steps.h - the driver calls of a move (carry.h).  Private to core.
 *
 * Each step works on a->larder->carry and records its progress there, so that a
 * step that failed can be continued or reverted. */
#pragma once

#include "core/policy_larder/pages.h"

/* The address of the i-th run, which does not change. */
static inline larder_addr carry_place(const struct carry *c, size_t i)
{
    return page_at(c->segment, c->runs[i].begin);
}

/* Copy all used pages to host memory, and wait. */
larder_result larder__carry_to_host(struct allocator *a);

/* ---- the new handles ------------------------------------------------------ */

larder_result larder__carry_new_create(struct allocator *a);
/* Release the new handles, none of which is mapped.  The caller has made room
 * for orphans. */
void larder__carry_new_release(struct allocator *a);
/* Map the new handles at the addresses of their runs, with access. */
larder_result larder__carry_new_map(struct allocator *a);
larder_result larder__carry_new_unmap(struct allocator *a);

/* ---- scratch addresses ---------------------------------------------------- */

/* Reserve addresses at which handles of so many pages can be mapped. */
larder_result larder__scratch_ensure(struct allocator *a, size_t pages);
larder_result larder__scratch_free(struct allocator *a);
/* Copy all used pages, from their place or from host memory, to the new handles,
 * which are mapped at the scratch addresses only during the call. */
larder_result larder__scratch_copy(struct allocator *a, bool from_host);

/* ---- the old handle ------------------------------------------------------- */

larder_result larder__carry_old_unmap(struct allocator *a);
larder_result larder__carry_old_release(struct allocator *a);
/* Create the handle again if it was released; it is blank then. */
larder_result larder__carry_old_remake(struct allocator *a);
/* Copy the contents from host memory to the blank handle, which is mapped at the
 * scratch addresses until that has succeeded. */
larder_result larder__carry_old_refill(struct allocator *a);
/* Map the handle where it was, with access. */
larder_result larder__carry_old_map(struct allocator *a);
