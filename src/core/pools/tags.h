/* tags.h - named sets of allocations (larder/tag.h).  Private to core.
 *
 * A tag has a private pool without users: it shares no memory with others, and
 * what it has cached may be released. */
#pragma once

#include <larder/tag.h>

#include "core/state/allocator.h"

struct tag {
    char name[LARDER_TAG_MAX + 1];
    struct private_pool *pool;
    bool is_dropped; /* paused, and its contents discarded */
    struct tag *next;
};

/* ERR_INVALID: there is no such tag. larder__tag_get() makes it. */
larder_result larder__tag_find(struct allocator *a, const char *name,
                               struct tag **out);
larder_result larder__tag_get(struct allocator *a, const char *name,
                              struct tag **out);

/* The pool of the tag that this thread has begun, or NULL. */
struct private_pool *larder__tag_pool(const struct allocator *a);

/* ERR_PAUSED while nothing can be allocated for the tag. */
larder_result larder__tag_check(const struct tag *tag);

/* Bytes that are allocated but paused, and so not among the reserved ones. */
uint64_t larder__tags_paused_bytes(const struct allocator *a);

/* When the allocator is destroyed.  Frames of threads stay: their handle says that
 * the allocator is gone. */
void larder__tags_destroy(struct allocator *a);
