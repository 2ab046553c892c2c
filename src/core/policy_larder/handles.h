/* handles.h - creates, keeps and releases the handles of the policy larder.
 * Private to core.
 *
 * A driver call for a handle costs about the same whatever its size.  But a
 * handle is mapped, moved and released as a whole: one byte in use keeps all of
 * it, unless live pages may move (carry.h). */
#pragma once

#include "core/policy_larder/own.h"

/* Pages that can be created without releasing any, as far as is known; and how
 * many have to be released before one can be, after a limit was lowered. */
size_t larder__handles_room(const struct allocator *a);
size_t larder__handles_excess(const struct allocator *a);

/* The maximum size of a handle, in pages: a quarter more than one of PyTorch's
 * large segments, so that a request of any size is filled evenly by handles not
 * smaller than half of it; on devices of more than about 10 GiB, 1/400 of the
 * device, so that their number, and with it the cost of a first pass, is bounded.
 * The setting handle_mib replaces both. */
size_t larder__handles_pages_max(const struct allocator *a);

/* Make room in all host tables for `count` more pages, so that later steps need
 * no host memory. */
bool larder__handles_make_room(struct allocator *a, size_t count);

/* Create a handle of `pages` pages, within the limit; it is appended to the
 * loose ones. */
larder_result larder__handles_create(struct allocator *a, size_t pages);

/* Remove the i-th loose handle from the list and from all counts, and return
 * it.  The last handle takes its index. */
uint64_t larder__handles_take(struct allocator *a, size_t i);

/* Release the i-th loose handle to the device.  The last one takes its
 * index. */
void larder__handles_release(struct allocator *a, size_t i);

/* Append a handle to the loose ones; its pages are already counted as held, and
 * there is room for it. */
void larder__handles_loosen(struct allocator *a, struct page_handle p);

/* Find, from index `from` on, the largest loose handle of at most `max` pages.
 * False: none. */
bool larder__handles_fit(const struct allocator *a, size_t from, size_t max,
                         size_t *out);

/* Find the smallest one.  False: none. */
bool larder__handles_smallest(const struct allocator *a, size_t from,
                              size_t *out);

/* Release loose handles of at least `pages` pages in all, if there are as many,
 * with as few excess pages as possible. */
void larder__handles_drop(struct allocator *a, size_t pages);

/* Release loose handles until at most `pages` pages are loose. */
void larder__handles_keep(struct allocator *a, size_t pages);
