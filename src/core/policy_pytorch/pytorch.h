/* pytorch.h - PyTorch's policy, and the steps of it that others use.  Private
 * to core. */
#pragma once

#include "core/state/allocator.h"

/* PyTorch's native policy (pytorch.c). */
extern const struct policy larder__policy_pytorch;

/* One driver call for every request (direct.c). */
extern const struct policy larder__policy_direct;

/* Take the best-fitting free block of the heap; acquire memory, first from
 * reserved pieces, then from the device (pytorch.c). */
bool larder__pytorch_search(struct allocator *a, struct request *q);
larder_result larder__pytorch_grow(struct allocator *a, struct request *q);

/* Find memory in segments, with more attempts than PyTorch before giving up.
 * The second does exactly what PyTorch does up to the point where PyTorch gives
 * up (segment_ladder.c). */
larder_result larder__segment_ladder_find(struct allocator *a,
                                          struct request *q);
larder_result larder__segment_ladder_find_alike(struct allocator *a,
                                                struct request *q);

/* ---- steps that the ladders of all policies share (ladder.c) -------------- */

/* Refuse a hopeless request without asking the device: ERR_OUT_OF_MEMORY. */
larder_result larder__ladder_refuse(struct allocator *a, struct request *q);

/* Wait for all pending blocks, within reclaim_budget_ms, and release everything
 * cached. */
void larder__ladder_release(struct allocator *a, struct request *q);
