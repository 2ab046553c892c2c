/* trim_age.h - releasing what was not used for long.  Private to core.
 *
 * A look is taken TRIM_STEPS times in the age that is set.  What was unused at
 * that many looks in a row, and between them, goes.  Nothing reads a clock but
 * the thread that looks (trimmer.c): free blocks have the number of the search
 * that they came after, which each look counts up, and a page of a range has
 * the number of the last look it was in use at or after. */
#ifndef LARDER_CORE_TRIM_AGE_H
#define LARDER_CORE_TRIM_AGE_H

#include "core/state/allocator.h"

/* Whether releasing must not even be thought of: a pool is begun, or a
 * stream is being captured. */
bool larder__trim_is_barred(struct allocator *a);

/* Look, and release old segments.  Not while barred. */
void larder__trim_look(struct allocator *a);

/* The next heap, from number *at on, that has old pages; NULL: none.  *at
 * becomes the number after it. */
struct heap *larder__trim_next_heap(struct allocator *a, size_t *at);

/* Release the heap's old pages.  Its stream has passed where it was at the
 * last look. */
void larder__trim_heap(struct allocator *a, const struct heap *heap);

#endif
