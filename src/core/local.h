/* local.h - what a heap's own free blocks answer, without pages or anything of
 * another heap.  Private to core.  For paged heaps. */
#ifndef LARDER_CORE_LOCAL_H
#define LARDER_CORE_LOCAL_H

#include "core/place.h"

/* Cut the place out of its block: q->block is exactly as large as asked for,
 * in no index, and in no state that a neighbour would merge with.  One that is
 * not paged is taken whole.  Two headers must be there. */
void larder__local_cut(struct allocator *a, struct request *q,
                       const struct place *place);

/* Set q->block to one where nothing has to be mapped.  False: there is none.
 * Headers as above. */
bool larder__local_take(struct allocator *a, struct request *q);

/* The same, merging the heap's quick blocks until there is one, unless they are
 * small and may well take a few pages more. */
bool larder__local_take_merging(struct allocator *a, struct request *q);

#endif
