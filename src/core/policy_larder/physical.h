/* physical.h - handles of the policy larder: got, held loose, released.
 * Private to core.
 *
 * To the driver a handle costs about the same whatever its size.  But it is
 * mapped, moved and released as a whole: one byte in use keeps all of it. */
#ifndef LARDER_CORE_POLICY_LARDER_PHYSICAL_H
#define LARDER_CORE_POLICY_LARDER_PHYSICAL_H

#include "core/policy_larder/own.h"

/* What the limit, the device's size and its last refusal leave, in bytes, but
 * for what is kept for others than the default pools. */
uint64_t larder__physical_capacity(const struct allocator *a);

/* Pages that can be had without releasing any, as far as is known. */
size_t larder__physical_room(const struct allocator *a);

/* The most pages that a new handle should have now: many while there is much
 * room beside what is held, one at the end. */
size_t larder__physical_handle_pages(const struct allocator *a);

/* The same when pages move: nothing is left then beside what is held, but what
 * was never in use is, and a program that has much of it needs no small ones. */
size_t larder__physical_moved_pages(const struct allocator *a);

/* Host memory, so that nothing done to `count` more pages needs any. */
bool larder__physical_make_room(struct allocator *a, size_t count);

/* Get a handle of so many pages, within the limit: it becomes the last loose
 * one. */
larder_result larder__physical_create(struct allocator *a, size_t pages);

/* The i-th loose handle is neither held nor counted any more; the last takes
 * its number. */
uint64_t larder__physical_take(struct allocator *a, size_t i);

/* Give the device the i-th loose handle; the last takes its number. */
void larder__physical_release(struct allocator *a, size_t i);

/* Another loose handle, of the pages held.  There is room for it. */
void larder__physical_loosen(struct allocator *a, struct physical p);

/* Of the loose handles from `from` on the one with most pages up to `max`;
 * false: none. */
bool larder__physical_fit(const struct allocator *a, size_t from, size_t max,
                          size_t *out);

/* Of those the one with fewest pages; false: there are none. */
bool larder__physical_smallest(const struct allocator *a, size_t from,
                               size_t *out);

/* Give the device loose handles of at least `pages` together, if there are, no
 * more than it takes. */
void larder__physical_drop(struct allocator *a, size_t pages);

#endif
