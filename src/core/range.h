/* range.h - the addresses of paged segments (pages.h).  Private to core. */
#ifndef LARDER_CORE_RANGE_H
#define LARDER_CORE_RANGE_H

#include "core/allocator.h"

/* A new range of at least `bytes`: one free block without pages, in its
 * heap. */
larder_result larder__range_create(struct allocator *a, struct heap *heap,
                                   uint64_t bytes);

/* Give back a range that is one free block and has no page.  If the device
 * refuses, it stays and will be used again. */
larder_result larder__range_release(struct allocator *a, struct segment *s);

/* Give back pages and addresses of a segment, whatever is in it, when the
 * allocator goes. */
larder_result larder__range_destroy(struct allocator *a, struct segment *s);

#endif
