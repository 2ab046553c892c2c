/* carry_steps.h - the device's part of carrying a handle's pages in use to
 * others (carry.h).  Private to core.
 *
 * All are steps of what a->larder->carry says is under way, and say there how
 * far they came: one that fails can be gone on with, or gone back from. */
#ifndef LARDER_CORE_POLICY_LARDER_CARRY_STEPS_H
#define LARDER_CORE_POLICY_LARDER_CARRY_STEPS_H

#include "core/policy_larder/pages.h"

/* Where the i-th page in use is, and stays. */
static inline larder_addr carry_place(const struct carry *c, size_t i)
{
    return page_at(c->segment, c->pages[i].at);
}

/* Copy the contents of all to the host's memory, or from it, and wait. */
larder_result larder__carry_copy(struct allocator *a, larder_copy_kind kind);

/* ---- the other pages ------------------------------------------------------ */

larder_result larder__carry_make(struct allocator *a);
/* Those that are mapped nowhere.  Room for orphans was made. */
void larder__carry_give(struct allocator *a);
/* At the addresses of those in use, and usable. */
larder_result larder__carry_map(struct allocator *a);
larder_result larder__carry_unmap(struct allocator *a);

/* ---- the handle ----------------------------------------------------------- */

larder_result larder__carried_unmap(struct allocator *a);
larder_result larder__carried_release(struct allocator *a);
/* Have it again, if it was released. */
larder_result larder__carried_remake(struct allocator *a);
/* Where it was, usable and with its contents. */
larder_result larder__carried_map(struct allocator *a);

/* ---- both at once --------------------------------------------------------- */

/* Addresses for all pages, beside those that they have. */
larder_result larder__scratch_ensure(struct allocator *a);
larder_result larder__scratch_free(struct allocator *a);
/* Copy the contents of all to the other pages, which are mapped nowhere before
 * and after. */
larder_result larder__scratch_copy(struct allocator *a);

#endif
