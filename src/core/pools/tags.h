/* tags.h - named sets of allocations (larder/tag.h).  Private to core.
 *
 * A tag has a private pool without users: its memory is its own, and what it
 * has cached may be released. */
#ifndef LARDER_CORE_TAGS_H
#define LARDER_CORE_TAGS_H

#include <larder/tag.h>

#include "core/state/allocator.h"

struct tag {
    char name[LARDER_TAG_MAX + 1];
    struct private_pool *pool;
    bool is_paused;
    bool is_dropped;       /* and its contents with it */
    uint64_t paused_bytes; /* released */
    uint64_t kept_bytes;   /* of the host, for their contents */
    struct paused *stale;  /* to be freed when nothing is queued any more */
    struct tag *next;
};

/* ERR_INVALID: there is none; and the same, made if there was none. */
larder_result larder__tag_find(struct allocator *a, const char *name,
                               struct tag **out);
larder_result larder__tag_get(struct allocator *a, const char *name,
                              struct tag **out);

/* The pool of the tag that this thread has begun, or NULL. */
struct private_pool *larder__tag_pool(const struct allocator *a);

static inline bool private_is_paused(const struct private_pool *p)
{
    return p->tag != NULL && p->tag->is_paused;
}

/* ERR_PAUSED while nothing can be allocated for the tag. */
larder_result larder__tag_check(const struct tag *tag);

/* What is allocated, but paused: not among the reserved bytes. */
uint64_t larder__tags_paused_bytes(const struct allocator *a);

/* After larder__pause_end(). */
void larder__tags_destroy(struct allocator *a);

#endif
