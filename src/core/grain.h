/* grain.h - how much memory a new handle of the larder policy has.  Private to
 * core.
 *
 * To the driver it costs about the same whatever its size.  But one byte in use
 * keeps all of it (physical.h), and what is lost so adds up to a part of a
 * handle for each place where long-lived memory meets short-lived. */
#ifndef LARDER_CORE_GRAIN_H
#define LARDER_CORE_GRAIN_H

#include "core/allocator.h"

/* Whether there is so much memory that handles can be large even where it is
 * tight: blocks are packed for it then. */
bool larder__grain_is_coarse(const struct allocator *a);

/* The largest request of the small pool.  To be asked once: a block's size says
 * which pool it is of (fast.h). */
uint64_t larder__grain_small_max(const struct allocator *a);

/* The most pages that any new handle has. */
size_t larder__grain_most(const struct allocator *a);

/* The most pages for new handles, where q->block lacks `missing` pages. */
size_t larder__grain(const struct allocator *a, const struct request *q,
                     size_t missing);

#endif
