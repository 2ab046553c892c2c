/* draw.h - acquires and returns memory: the device's calls, preceded by a claim
 * in the device's ledger.  Private to core.
 *
 * A refusal by the ledger looks like one by the device: ERR_OUT_OF_MEMORY.  All
 * locks are held. */
#pragma once

#include "core/state/allocator.h"

/* Acquire a driver allocation, or a handle, of `bytes`.  ERR_OUT_OF_MEMORY; the
 * device's errors. */
larder_result larder__draw_memory(struct allocator *a, uint64_t bytes,
                                  larder_addr *out);
larder_result larder__draw_handle(struct allocator *a, uint64_t bytes,
                                  uint64_t *out);

/* Return it; `bytes` are those drawn.  After an error of the device it is still
 * held. */
larder_result larder__return_memory(struct allocator *a, larder_addr addr,
                                    uint64_t bytes);
larder_result larder__return_handle(struct allocator *a, uint64_t handle,
                                    uint64_t bytes);
