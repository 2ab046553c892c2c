/* audit.c - checks the rules of larder_check() when locks are released. */
#include "core/state/audit.h"

#if LARDER_ASSERT_LEVEL > 1

/* A check of n objects is due every n / AUDIT_SHARE calls; a pool's index
 * counts as INDEX_COST objects. */
enum { AUDIT_SHARE = 16, INDEX_COST = 512 };

void larder__audit_begin(struct allocator *a, allocator_checker *check)
{
    a->audit.check = check;
}

/* How many objects a check inspects: headers, pages, and the pools' indexes,
 * even if empty. */
static uint64_t cost(const struct allocator *a)
{
    return a->slab.untouched - a->slab.free_count + a->page_count +
           a->privates.index.pool_count * INDEX_COST;
}

void larder__audit(struct allocator *a)
{
    if (a->audit.check == NULL || ++a->audit.calls < cost(a) / AUDIT_SHARE)
        return;
    a->audit.calls = 0;
    if (a->audit.check(a) != LARDER_OK)
        larder__assert_fail(__FILE__, __LINE__, larder_last_error());
}

#endif
