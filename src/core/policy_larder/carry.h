/* carry.h - the pages in use of a handle get others at the same addresses, with
 * the same contents, and the handle goes back to the device.  Private to core.
 *
 *   before   |        one handle        |
 *            [free][ live ][    free    ]
 *   after    |  -  |  p1  |  -  |  -    |
 *
 * The contents go from one place of the device to the other if it has room for
 * both, else by way of the host.  In between the pages are mapped nowhere: it
 * is right only while nothing is queued that touches them.
 *
 * What fails on the way is undone.  If that fails as well, as when the device
 * maps nothing any more, the handle, or its contents, are held, and undoing is
 * tried again before memory is supplied, released or destroyed.  To all
 * others it looks as before, though what lives there cannot be touched. */
#ifndef LARDER_CORE_POLICY_LARDER_CARRY_H
#define LARDER_CORE_POLICY_LARDER_CARRY_H

#include "core/policy_larder/pages.h"

/* How many pages of a handle are in use; all of them, if one may not be
 * carried: others have it too, or a stream may be at work on it after its block
 * was freed.  `first` is the block that the handle begins in, or one
 * before it.  With `out`, which ones. */
size_t larder__carry_used(struct allocator *a, const struct block *first,
                          const struct segment *s, struct page_span handle,
                          struct carried *out);

/* Carry the pages in use of one handle, of which some are not.  Nothing that
 * is queued touches it.  ERR_OUT_OF_MEMORY: the device had no others. */
larder_result larder__carry(struct allocator *a, struct segment *s,
                            struct page_span handle);

/* Finish undoing what failed; OK if there is nothing. */
larder_result larder__carry_back(struct allocator *a);

/* The segment goes: whatever was not undone goes with it. */
void larder__carry_leave(struct allocator *a, struct segment *s);

/* Release the addresses and host memory that carrying took. */
void larder__carry_tidy(struct allocator *a);

/* The allocator ends. */
void larder__carry_unmake(struct allocator *a);

#endif
