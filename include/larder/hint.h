/* hint.h - allocations whose lifetime the caller knows in advance.
 *
 *   larder_alloc_hinted(a, bytes, stream, LARDER_HINT_LONG, &weights);
 *
 * A long-lived block pins all memory that is mapped with it, so the policy
 * `larder` places long-lived blocks in a separate address range.  Hints are
 * optional; a wrong one costs memory and nothing else.
 *
 * Hints take effect under the policy `larder` on devices with virtual memory,
 * for requests above 128 KiB (the setting small_kib) outside of private pools
 * and tags, unless `lifetimes:off` is set.  Elsewhere they have no effect:
 * under LARDER_POLICY_PYTORCH every placement is PyTorch's. */
#ifndef LARDER_HINT_H
#define LARDER_HINT_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values are part of the ABI: add at the end, never renumber. */
typedef enum larder_hint {
    LARDER_HINT_NONE = 0, /* unknown: as larder_alloc() */
    /* Outlives most later allocations: weights, optimizer state, caches. */
    LARDER_HINT_LONG = 1,
    /* Freed soon, whatever the lifetime of other blocks of its size was:
     * temporaries of a forward or backward pass. */
    LARDER_HINT_SHORT = 2
} larder_hint;

/* larder_alloc() with a hint: the same units, ownership and errors, and
 * ERR_INVALID for an unknown hint.  Any thread.
 *
 * Cost: that of larder_alloc(), except that LARDER_HINT_LONG takes the slow
 * path: it acquires all locks of the allocator and waits for requests of other
 * streams. */
LARDER_API larder_result larder_alloc_hinted(larder_allocator *a,
                                             uint64_t bytes,
                                             larder_stream stream,
                                             larder_hint hint,
                                             larder_addr *out);

#ifdef __cplusplus
}
#endif

#endif
