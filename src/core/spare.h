/* spare.h - what the larder policy hands out beyond what was asked for, and
 * takes back.  Private to core.
 *
 * While memory is plentiful a kept block may answer a smaller request
 * (quick.h).  When it gets tight what live blocks have too much is cut off. */
#ifndef LARDER_CORE_SPARE_H
#define LARDER_CORE_SPARE_H

#include "core/allocator.h"

/* The largest block to hand out for a request of `bytes`, rounded, that is
 * counted in t: at most a 64th of what there is is spared, and a 1024th of it
 * for each stream between two times that their counts are added up.  The lock
 * of the request's front is held. */
uint64_t larder__spare_most(const struct allocator *a, const struct tally *t,
                            uint64_t bytes);

/* Cut off what live blocks have too much.  All locks are held.  Whether there
 * was any; some stays where there is no host memory for it. */
bool larder__spare_take_back(struct allocator *a);

#endif
