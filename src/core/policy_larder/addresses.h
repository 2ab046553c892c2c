/* addresses.h - ranges of addresses of the policy larder.  Private to core.
 *
 * The first range of the k-th stream has room for a k-th of the device.  Where
 * that is not enough, each further one is three times as long as those before
 * it together, so that ranges are few. */
#ifndef LARDER_CORE_POLICY_LARDER_ADDRESSES_H
#define LARDER_CORE_POLICY_LARDER_ADDRESSES_H

#include "core/policy_larder/own.h"

/* Reserve a range for the heap with room for `bytes`: an unmapped block.  Where
 * addresses are short, empty ranges of any heap go first.  ERR_OUT_OF_MEMORY;
 * ERR_NO_HOST_MEMORY. */
larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes);

/* Reserve just so many, a multiple of PAGE_BYTES. */
larder_result larder__range_reserve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes);

/* Release the addresses of a range without pages. */
larder_result larder__range_release(struct allocator *a, struct segment *s);

/* Release the ranges that have no page, but for regions'.  The first refusal. */
larder_result larder__ranges_release(struct allocator *a);

/* Release the pages and addresses of a range, whatever is in it, when the
 * allocator goes; it is gone even if the device refuses. */
larder_result larder__range_destroy(struct allocator *a, struct segment *s);

#endif
