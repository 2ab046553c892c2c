/* private.h - private pools: for graph captures and for users.  Private to
 * core. */
#pragma once

#include "core/state/allocator.h"

/* larder_pool_begin(), larder_pool_end() and larder_pool_release(), with their
 * errors; for the first, the pool is not lent. */
larder_result larder__private_begin(struct allocator *a, larder_pool_id id,
                                    larder_pool_filter *filter, void *ctx);
larder_result larder__private_end(struct allocator *a, larder_pool_id id);
larder_result larder__private_release(struct allocator *a, larder_pool_id id);

/* ERR_UNKNOWN_POOL, with a message, if there is none. */
larder_result larder__private_find(struct allocator *a, larder_pool_id id,
                                   struct private_pool **out);

/* The same, and lock the handle (larder__handle_lock_for(); `caller` may be NULL
 * if no event is recorded); it stays locked only on success. */
larder_result larder__private_lock(larder_allocator *handle, larder_pool_id id,
                                   struct allocator **a,
                                   struct private_pool **out,
                                   const void *caller);

/* Decide anew whether the pools in effect may be used by captures.  Call it
 * when a pool is begun, ended, lent or captured. */
void larder__private_decide(struct allocator *a);

/* Whether memory allocated on the stream now becomes part of a graph. */
bool larder__private_is_graphs(struct allocator *a, larder_stream stream);

/* Whether work queued on the stream now may become part of a graph, or waiting
 * for it may disturb a capture.  A pool in effect is taken to serve a capture,
 * unless it includes this stream, which is not capturing, and has served no
 * graph so far. */
bool larder__private_may_be_graphs(struct allocator *a, larder_stream stream);

/* Create a pool without users; append it to the allocator's list. */
struct private_pool *larder__private_create(larder_pool_id id);
void larder__private_append(struct allocator *a, struct private_pool *p);

/* The pool has lost its last user: its unused memory may be released. */
void larder__private_append_unused(struct allocator *a, struct private_pool *p);

/* Remove a pool that has no memory and is not among the unused ones from the
 * list, and free it. */
void larder__private_remove(struct allocator *a, struct private_pool *p);

/* Whether the request's pool may grow by its segment. */
bool larder__private_allows(const struct request *q);

/* Fill in all fields except `size`. */
void larder__private_info(struct allocator *a, const struct private_pool *p,
                          larder_pool_info *out);

/* Free bytes in all private pools, for the out-of-memory message. */
uint64_t larder__private_cached_bytes(const struct allocator *a);

/* When the allocator is destroyed and no segment is left: free all pools and
 * routes. */
void larder__private_destroy(struct allocator *a);
