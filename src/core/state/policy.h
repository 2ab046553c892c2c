/* policy.h - the policies, and the path of a request that they share.  Private
 * to core. */
#ifndef LARDER_CORE_POLICY_H
#define LARDER_CORE_POLICY_H

#include "core/state/allocator.h"

/* PyTorch 2.4's native policy (pytorch.c). */
extern const struct policy larder__policy_pytorch;

/* One driver call for every request (direct.c). */
extern const struct policy larder__policy_direct;

/* Larder's own (larder_policy.c). */
extern const struct policy larder__policy_larder;

/* For pinned host memory (pinned_policy.c).  Its number is no one's to
 * choose. */
extern const struct policy larder__policy_pinned;
#define LARDER_POLICY_PINNED ((larder_policy)100)

/* Steps of PyTorch's policy that others go too: take the best fitting free
 * block of the heap; get memory that is reserved, or else from the device
 * (pytorch.c). */
bool larder__pytorch_search(struct allocator *a, struct request *q);
larder_result larder__pytorch_grow(struct allocator *a, struct request *q);

/* Find memory in segments, giving up late; the same where PyTorch would, as
 * long as it does not give up (segment_ladder.c). */
larder_result larder__segment_ladder_find(struct allocator *a,
                                          struct request *q);
larder_result larder__segment_ladder_find_alike(struct allocator *a,
                                                struct request *q);

/* The number of a policy (lifecycle.c). */
larder_policy larder__policy_id(const struct policy *policy);

/* Whether the short way of fast.h is open: to be asked again when the settings
 * or the tags that are begun change (lifecycle.c). */
void larder__decide_fast(struct allocator *a);

/* Serve a request of `bytes` > 0 (alloc.c).  The lock is held, and may be
 * dropped in between. */
larder_result larder__request(struct allocator *a, uint64_t bytes,
                              larder_stream stream, larder_hint hint,
                              larder_addr *out);

/* Find q->heap, for q->size and q->stream, and have the header that a split
 * takes: to be done again when the lock was dropped, as the pool asked before
 * may be gone. */
larder_result larder__request_route(struct allocator *a, struct request *q);

/* Run the reclaim callbacks, once for a request, then find anew, from the
 * heap on: anything may have changed meanwhile, even the pool and with it the
 * kind of its memory. */
larder_result larder__find_reclaimed(struct allocator *a, struct request *q);

/* Round a request's size as the settings say; `unit` is the policy's. */
uint64_t larder__round_size(const struct conf *conf, uint32_t unit,
                            uint64_t bytes);

/* The size of the segment a request of this rounded size would come from. */
uint64_t larder__segment_size(const struct conf *conf, uint64_t size);

/* Count the failure, tell the observers, and return ERR_OUT_OF_MEMORY with
 * the explanation (oom.c).  Drops and retakes the lock. */
larder_result larder__out_of_memory(struct allocator *a,
                                    const struct request *q);

/* The same for a failure whose explanation is the last error already. */
larder_result larder__out_of_memory_explained(struct allocator *a,
                                              const struct request *q);

/* Run the callbacks without the lock; whether one of them freed something. */
bool larder__run_reclaims(struct allocator *a);

#endif
