/* paged.h - the pages that the policy larder keeps, for the rest of core, which
 * stands below it.  Private to core.
 *
 * Under another policy there are none, and each of these does nothing.  All
 * locks are held, as everywhere in core. */
#pragma once

#include "core/state/allocator.h"

struct page_span;

/* Make a->larder, under every policy; ERR_NO_HOST_MEMORY.  Everything it held
 * must be released before `unmake`. */
larder_result larder__paged_make(struct allocator *a);
void larder__paged_unmake(struct allocator *a);

/* The settings, the limit or the device's memory may have changed. */
void larder__paged_reset(struct allocator *a);

/* Release the free memory of a default pool's heap.  Returns the first
 * error. */
larder_result larder__paged_release_heap(struct allocator *a,
                                         struct heap *heap);
/* Release segments of heaps that are empty after that. */
larder_result larder__paged_release_empty(struct allocator *a);
/* Release what is mapped nowhere. */
void larder__paged_release_loose(struct allocator *a);
/* Release those pages of a default pool's heap that trim_age considers old
 * (page_span.h).  Its stream has passed the point where it was when they were last
 * in use. */
void larder__paged_release_old(struct allocator *a, const struct heap *heap);
/* Release memory until no more than `target` bytes are held. */
void larder__paged_trim(struct allocator *a, uint64_t target);

/* Make the handles of the span's pages, which are not mapped, loose; free blocks
 * there become unmapped.  Release loose ones beyond `bytes`. */
void larder__paged_let_go(struct allocator *a, struct segment *s,
                          struct page_span span);
void larder__paged_keep(struct allocator *a, uint64_t bytes);

/* Map live pages that a failed move left without memory: finish undoing the move,
 * or complete it (carry.h).  OK if there are none.  The error names the addresses
 * that stay withheld. */
larder_result larder__paged_settle(struct allocator *a);

/* Take an unmapped handle of `bytes`, no longer held or counted, as if the
 * device had just created it.  False: there is none. */
bool larder__paged_take(struct allocator *a, uint64_t bytes, uint64_t *out);

/* Bytes that could be released or moved to another heap; of a heap with `fit`,
 * whether there are any; bytes that are mapped nowhere. */
uint64_t larder__paged_movable_bytes(const struct allocator *a);
bool larder__paged_has_movable(const struct heap *heap);
uint64_t larder__paged_loose_bytes(const struct allocator *a);

/* When the allocator is destroyed: release the pages and addresses of a segment
 * of pages, paged or expandable, whatever it contains.  The segment is freed even
 * if the device reports an error. */
larder_result larder__paged_destroy(struct allocator *a, struct segment *s);

/* Check its own rules, for larder_check(). */
larder_result larder__paged_check(const struct allocator *a,
                                  size_t mapped_pages);
