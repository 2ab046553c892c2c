/* story.h - what one device of a snapshot went through, event by event, in a
 * form that it can be told again: which allocation each event is about, which
 * frees had to wait for other streams, where the cache was emptied. */
#ifndef LARDER_CONVERT_STORY_H
#define LARDER_CONVERT_STORY_H

#include "snapshot/lifetimes.h"

#define STORY_NONE UINT32_MAX

struct story {
    struct lifetimes lifetimes;
    /* By event: the allocation that an alloc makes, a free_requested ends or a
     * free_completed makes reusable; STORY_NONE for other events, and for
     * frees of what is not known. */
    uint32_t *subjects;
    /* By event: the allocation that an alloc takes the place of, which was
     * never seen freed; STORY_NONE for nearly all. */
    uint32_t *replaced;
    unsigned char *empties; /* by event: empty_cache just before it */
    /* By event: a free_completed that the request after it brought about, by
     * waiting when it could not be served: too late for it to be served by
     * that place alone. */
    unsigned char *late;
    unsigned char *deferred; /* by allocation: its free waited for a stream */
    uint64_t empty_count;
    uint64_t deferred_count;
    uint64_t zero_sizes; /* allocations of 0 bytes */
};

/* `s` has to stay.  A free waited for a stream where an allocation comes
 * before its free_completed, or what brought that about; in a recording without any free_completed none
 * is taken to have waited.
 * False: no host memory.  Cost: a few passes, 27 bytes an event. */
bool story_make(const struct snapshot *s, size_t device, struct story *out,
                struct tool_error *error);

/* The late completions of a request, which are to be told after it: the next
 * one before *event, which begins as the request's own number.  False: there
 * are no more. */
bool story_is_late(const struct story *story, uint32_t request,
                   uint32_t *event);

/* Also after it failed. */
void story_free(struct story *story);

#endif
