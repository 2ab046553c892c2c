/* trim_age.h - releases memory that has not been used for a long time.  Private
 * to core.
 *
 * The age that is set is divided into TRIM_STEPS looks.  Memory that was unused
 * at that many looks in a row, and in between, is released.  Only the thread
 * that looks reads a clock (trimmer.c), so the fast path does not: age is
 * counted in looks.  A free block has the value that its pool's counter of
 * searches had when it became free, and each look advances the counter; a page
 * of a range has the number of the last look at or after which it was in use. */
#pragma once

#include "core/state/allocator.h"

/* Whether nothing may be released now: a pool is begun, or a stream is
 * capturing. */
bool larder__trim_is_barred(struct allocator *a);

/* Take a look and release old segments.  Not to be called while barred. */
void larder__trim_look(struct allocator *a);

/* Find the next heap with old pages, from index *at on; *at becomes the index
 * after it.  NULL: none. */
struct heap *larder__trim_next_heap(struct allocator *a, size_t *at);

/* Release the heap's old pages.  Its stream has passed the point where it was
 * at the last look. */
void larder__trim_heap(struct allocator *a, const struct heap *heap);
