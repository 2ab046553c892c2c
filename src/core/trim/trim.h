/* trim.h - releases part of the cached memory.  Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Count what was released since `held_before` bytes were held. */
static inline void larder__trim_count(struct allocator *a, uint64_t held_before)
{
    if (a->held_bytes >= held_before)
        return;
    a->stats.num_trims++;
    a->stats.trimmed_bytes += (int64_t)(held_before - a->held_bytes);
}

/* Release up to `bytes` for another process, or nothing while a stream is
 * capturing.  Returns how many were released.  Called without the locks
 * (peers.h). */
uint64_t larder__trim_for_peer(struct allocator *a, uint64_t bytes);

/* ---- what was not used for a long time (trim_age.c) ---------------------- */

/* The age that is set is divided into TRIM_STEPS looks.  Memory that was unused
 * at that many looks in a row, and in between, is released.  Only the thread
 * that looks reads a clock (trimmer.c), so the fast path does not: age is
 * counted in looks.  A free block has the value that its pool's counter of
 * searches had when it became free, and each look advances the counter; a page
 * of a range has the number of the last look at or after which it was in use. */

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

/* ---- the thread behind trim_age (trimmer.c) ------------------------------ */

/* Tell the thread conf.trim_age_ns; create it if that is not 0.
 * ERR_NO_HOST_MEMORY, ERR_SYSTEM: there is no thread, and nothing is
 * trimmed. */
larder_result larder__trimmer_set(struct allocator *a);

/* End the thread and wait for it.  Called without the lock. */
void larder__trimmer_end(struct allocator *a);
