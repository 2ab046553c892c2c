/* private.h - private pools: for graph captures and for users.  Private to
 * core. */
#ifndef LARDER_CORE_PRIVATE_H
#define LARDER_CORE_PRIVATE_H

#include "core/state/allocator.h"

larder_result larder__private_begin(struct allocator *a, larder_pool_id id,
                                    larder_pool_filter *filter, void *ctx);
larder_result larder__private_end(struct allocator *a, larder_pool_id id);
larder_result larder__private_release(struct allocator *a, larder_pool_id id);

/* ERR_UNKNOWN_POOL, with the words, if there is none. */
larder_result larder__private_find(struct allocator *a, larder_pool_id id,
                                   struct private_pool **out);

/* The same with the handle's lock, which is held if there is one. */
larder_result larder__private_lock(larder_allocator *handle, larder_pool_id id,
                                   struct allocator **a,
                                   struct private_pool **out);

/* What a pool that is begun means for captures: to be asked again when one is
 * begun, ends, lends, or was captured. */
void larder__private_decide(struct allocator *a);

/* Whether what is asked for on the stream now becomes part of a graph. */
bool larder__private_is_graphs(struct allocator *a, larder_stream stream);

/* Whether what is put on the stream now may become part of a graph, or to wait
 * for it may disturb a capture.  A pool that is begun is taken for a capture's,
 * unless it serves this stream, which is none, and has no graph so far. */
bool larder__private_may_be_graphs(struct allocator *a, larder_stream stream);

/* A pool without users, and its place in the allocator's list. */
struct private_pool *larder__private_create(larder_pool_id id);
void larder__private_append(struct allocator *a, struct private_pool *p);

/* It has lost its last user: what it does not use may be given back. */
void larder__private_append_unused(struct allocator *a, struct private_pool *p);

/* Take a pool without memory, that is not among the unused ones, out of the
 * list; it is gone. */
void larder__private_remove(struct allocator *a, struct private_pool *p);

/* Whether the request's pool may grow by its segment. */
bool larder__private_allows(const struct allocator *a, const struct request *q);

/* What the pool holds; all but `size`. */
void larder__private_info(struct allocator *a, const struct private_pool *p,
                          larder_pool_info *out);

/* Free bytes in all private pools, for the out-of-memory message. */
uint64_t larder__private_cached_bytes(const struct allocator *a);

void larder__private_destroy(struct allocator *a);

#endif
