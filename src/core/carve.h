/* carve.h - memory for a request out of the free blocks of a paged heap, in as few
 * steps as will do.  Private to core.
 *
 * For when memory is plentiful: any block that fits well and lacks no page
 * does, where place.h looks for the place that spares pages. */
#ifndef LARDER_CORE_CARVE_H
#define LARDER_CORE_CARVE_H

#include "core/allocator.h"

/* A block of exactly `size` bytes, as larder__local_cut() leaves it: in no
 * index, and in no state that a neighbour would merge with.  NULL: none
 * was found, which does not say that there is none; nothing has changed. */
struct block *larder__carve(struct allocator *a, struct heap *heap,
                            uint64_t size);

/* Merge b, free, in no index and of a paged segment, with its neighbours, and
 * put it into its heap.  Returns what it became. */
struct block *larder__uncarve(struct allocator *a, struct block *b);

#endif
