/* request.h - the part of a request's path that all policies share (alloc.c).
 * Private to core. */
#pragma once

#include "core/state/allocator.h"

/* Serve a request of `bytes` > 0.  The caller holds the lock, which may be
 * dropped and retaken. */
larder_result larder__request(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_hint hint,
                              larder_addr *out);

/* Find q->heap for q->size and q->stream, and ensure the header that a split
 * takes.  Call it again after the lock was dropped: the pool found before may
 * be gone. */
larder_result larder__request_route(struct allocator *a, struct request *q);

/* Start again from finding the heap: anything may have changed meanwhile. */
larder_result larder__find_again(struct allocator *a, struct request *q);

/* Run the reclaim callbacks, once for each request, then start again from
 * finding the heap: anything may have changed meanwhile, even the pool and with
 * it the kind of its memory. */
larder_result larder__find_reclaimed(struct allocator *a, struct request *q);

/* Round a request's size as the settings say; `unit` is the policy's. */
uint64_t larder__round_size(const struct conf *conf, uint32_t unit,
                            uint64_t bytes);

/* Whether no reclaiming can help because live memory and the request together
 * exceed the limit or the device.  Runs no callbacks. */
bool larder__request_is_hopeless(const struct allocator *a,
                                 const struct request *q);

/* After a refusal: whether it is final because a limit was the reason and the
 * setting throw_on_cudamalloc_oom is on.  Then it is counted, as a rejection and
 * not as out of memory, as in PyTorch. */
bool larder__request_reject(struct allocator *a, struct request *q);

/* ---- waiting for recorded streams (wait.c) ------------------------------- */

/* Wait until a pending block becomes free.  False: there is none, the device
 * reports an error, or the request's reclaim_budget_ms has passed
 * (q->out_of_time). */
bool larder__request_wait_one(struct allocator *a, struct request *q);

/* Wait until pending memory is within pending_limit, or until the above returns
 * false. */
void larder__request_limit_pending(struct allocator *a, struct request *q);

/* ---- the limits of private pools and tags (tag_limit.c) ------------------ */

/* Whether the limit of the request's pool allows it to grow.  A tag at its
 * limit first releases what it has cached; if that is not enough the refusal is
 * counted (tag_limit.c). */
bool larder__usage_allows(struct allocator *a, const struct request *q);
