/* minimum.c - minimums of owners: set if there is room for them. */
#include "core/segments/minimum.h"

#include "base/fail.h"
#include "core/segments/release.h"
#include "core/state/held.h"

/* Whether there is room for `owed`, the bytes by which all owners together are
 * below their minimums. */
static bool is_there(const struct allocator *a, uint64_t owed)
{
    uint64_t capacity = held_capacity(a);

    return owed <= capacity && a->held_bytes <= capacity - owed;
}

larder_result larder__minimum_set(struct allocator *a, struct holding *h,
                                  uint64_t bytes)
{
    uint64_t before = h->minimum_bytes;
    uint64_t owed;

    larder__assert(allocator_is_locked(a));
    holding_set(&a->account, h, h->held_bytes, bytes);
    larder__assert(h->minimum_bytes == bytes);
    owed = a->account.owed_bytes;
    if (bytes <= before || is_there(a, owed))
        return LARDER_OK;
    if (!allocator_is_capturing(a))
        (void)larder__release_cached(a); /* the second check decides */
    if (is_there(a, a->account.owed_bytes))
        return LARDER_OK;
    owed = a->account.owed_bytes;
    holding_set(&a->account, h, h->held_bytes, before);
    larder__assert(h->minimum_bytes == before);
    return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                        "a minimum of %llu bytes cannot be kept: owners would "
                        "hold %llu bytes less than their minimums, and %llu of "
                        "a capacity of %llu bytes are held",
                        (unsigned long long)bytes, (unsigned long long)owed,
                        (unsigned long long)a->held_bytes,
                        (unsigned long long)held_capacity(a));
}
