/* story.h - the history of one device of a snapshot, event by event, prepared
 * for replay: the allocation that each event is about, the frees that had to
 * wait for other streams, and where the cache was emptied. */
#pragma once

#include "snapshot/lifetimes.h"
#include "trace/arena.h"

#define STORY_NONE UINT32_MAX

struct story {
    struct arena arena; /* of all that follows */
    const struct lifetimes *lifetimes;
    /* By event: the allocation that an alloc creates, a free_requested ends or
     * a free_completed makes reusable.  STORY_NONE: another kind of event, or a
     * free of an unknown allocation. */
    uint32_t *subjects;
    /* By event: the allocation whose place an alloc takes without its free
     * being recorded; nearly always STORY_NONE. */
    uint32_t *replaced;
    unsigned char *empties; /* by event: empty_cache just before it */
    /* By event: a free_completed caused by the request after it, which waited
     * because it could not be served.  It came too late for that block alone to
     * serve the request. */
    unsigned char *late;
    unsigned char *deferred; /* by allocation: its free waited for a stream */
    uint64_t empty_count;
    uint64_t deferred_count;
    uint64_t zero_sizes; /* allocations of 0 bytes */
};

/* `s` must stay valid.  A free has waited for a stream if an allocation, or
 * what caused it, comes before its free_completed.  In a recording without any
 * free_completed no free is assumed to have waited.  False: no host memory.
 * Cost: a few passes, 27 bytes for each event. */
bool story_make(const struct snapshot *s, size_t device, struct story *out,
                struct tool_error *error);

/* The late completions of a request, which must be replayed after it: the next
 * one before *event, which begins as the request's own number.  False: there
 * are no more. */
bool story_is_late(const struct story *story, uint32_t request,
                   uint32_t *event);

/* Call it also after a failure. */
void story_free(struct story *story);
