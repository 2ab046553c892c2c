/* addresses.h - ranges of addresses of the policy larder.  Private to core.
 *
 * The first range of the k-th stream has room for a k-th of the device.  Where
 * that is not enough, each further range is three times as long as all before
 * it together, so that there are few. */
#pragma once

#include "core/policy_larder/own.h"

/* Reserve a range for the heap with room for `bytes`: one unmapped block.
 * Where addresses are short, empty ranges of any heap are released first.
 * ERR_OUT_OF_MEMORY; ERR_NO_HOST_MEMORY. */
larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes);

/* Reserve exactly `bytes`, a multiple of PAGE_BYTES. */
larder_result larder__range_reserve(struct allocator *a, struct heap *heap,
                                    uint64_t bytes);

/* Forget a range without pages, whose addresses the device has released: cannot
 * fail. */
void larder__range_forget(struct allocator *a, struct segment *s);

/* Release all ranges without pages, except those of regions.  Returns the first
 * error. */
larder_result larder__ranges_release(struct allocator *a);

/* Release the pages and addresses of a range, whatever it contains, when the
 * allocator is destroyed.  The range is freed even if the device reports an
 * error. */
larder_result larder__range_destroy(struct allocator *a, struct segment *s);
