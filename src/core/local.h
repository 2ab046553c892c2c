/* local.h - what a heap's own free blocks answer, without pages or anything of
 * another heap.  Private to core.  For paged heaps. */
#ifndef LARDER_CORE_LOCAL_H
#define LARDER_CORE_LOCAL_H

#include "core/place.h"

/* Cut `size` bytes at the place out of its block: the result is exactly as
 * large, in no index, and in no state that a neighbour would merge with.  One
 * that is not paged is taken whole.  Two headers must be there; one if the
 * place is at an end of the block. */
struct block *larder__local_cut(struct allocator *a, const struct place *place,
                                uint64_t size);

/* Such a block of the heap where nothing has to be mapped.  NULL: there is
 * none.  A header must be there. */
struct block *larder__local_take(struct allocator *a, struct heap *heap,
                                 uint64_t size);

/* The same where nothing can be carved (carve.h). */
struct block *larder__local_place(struct allocator *a, struct heap *heap,
                                  uint64_t size);

/* The same as larder__local_take(), merging the heap's quick blocks until there
 * is one; but not while more memory is the better answer: to small requests a
 * few pages, to others as much as their return is likely to be worth. */
struct block *larder__local_take_merging(struct allocator *a, struct heap *heap,
                                         uint64_t size);

#endif
