/* request.h - the path of a request that all policies share (alloc.c).  Private
 * to core. */
#ifndef LARDER_CORE_REQUEST_H
#define LARDER_CORE_REQUEST_H

#include "core/state/allocator.h"

/* Serve a request of `bytes` > 0.  The lock is held, and may be dropped in
 * between. */
larder_result larder__request(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_hint hint,
                              larder_addr *out);

/* Find q->heap, for q->size and q->stream, and have the header that a split
 * takes: to be done again when the lock was dropped, as the pool asked before
 * may be gone. */
larder_result larder__request_route(struct allocator *a, struct request *q);

/* Find anew, from the heap on: anything may have changed meanwhile. */
larder_result larder__find_again(struct allocator *a, struct request *q);

/* Run the reclaim callbacks, once for a request, then find anew, from the
 * heap on: anything may have changed meanwhile, even the pool and with it the
 * kind of its memory. */
larder_result larder__find_reclaimed(struct allocator *a, struct request *q);

/* Round a request's size as the settings say; `unit` is the policy's. */
uint64_t larder__round_size(const struct conf *conf, uint32_t unit,
                            uint64_t bytes);

/* The size of the segment a request of this rounded size would come from. */
uint64_t larder__segment_size(const struct conf *conf, uint64_t size);

/* Whether no reclaiming can help: what is handed out and the request together
 * exceed the limit, or the device.  Asks nobody (hopeless.c). */
bool larder__request_is_hopeless(const struct allocator *a,
                                 const struct request *q);

/* A request found nothing: ask the other processes on the device, and find
 * again as long as that may help (ask.c).  `moves` is larder__peers_moves() from
 * before it looked.  Drops and retakes the locks.  ERR_OUT_OF_MEMORY. */
larder_result larder__request_ask(struct allocator *a, struct request *q,
                                  uint64_t moves);

#endif
