/* supply.h - where the larder policy has pages from, and how many at a time.
 * Private to core. */
#ifndef LARDER_CORE_SUPPLY_H
#define LARDER_CORE_SUPPLY_H

#include "core/pages.h"
#include "core/place.h"

/* Once what is in use has not grown for long, and half as much again would fit,
 * what lies where need not be chosen with care any more, until it grows.
 * Called at each request while that is done. */
void larder__supply_relax(struct allocator *a);

/* What the place of the next request should be like. */
struct place_rules larder__supply_place(struct allocator *a);

/* Have memory where the span, of q->block, misses it: new pages, or free ones
 * from elsewhere.  ERR_OUT_OF_MEMORY, with q->over_limit, when there is no
 * more; some of what was got may be loose then. */
larder_result larder__supply(struct allocator *a, struct request *q,
                             struct page_span span);

#endif
