/* hint.h - allocations of which the caller knows how long they will live.
 *
 *   larder_alloc_hinted(a, bytes, stream, LARDER_HINT_LONG, &weights);
 *
 * A block that stays keeps all of the memory that was mapped with it.  So the
 * policy `larder` puts what stays in addresses of its own.  Hints are optional;
 * a wrong one costs room and nothing else.
 *
 * Heeded by the policy `larder` on devices with virtual memory, for requests
 * above 512 KiB (the setting small_kib), outside of private pools and tags,
 * unless `lifetimes:off` is set.  Everywhere else, and
 * under LARDER_POLICY_PYTORCH, whose every placement is PyTorch's, a hint
 * changes nothing. */
#ifndef LARDER_HINT_H
#define LARDER_HINT_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values are part of the ABI: add at the end, never renumber. */
typedef enum larder_hint {
    LARDER_HINT_NONE = 0, /* not known: as larder_alloc() */
    /* It will outlive most of what is asked for after it: weights, the
     * optimizer's state, caches. */
    LARDER_HINT_LONG = 1,
    /* It will be freed soon, whatever became of others of its size: what a
     * forward or backward pass needs for itself. */
    LARDER_HINT_SHORT = 2
} larder_hint;

/* larder_alloc(), with a hint.  Units, ownership and errors are its own;
 * ERR_INVALID besides for a hint that is none.  Any thread.
 *
 * Cost: that of larder_alloc(), but LARDER_HINT_LONG takes all locks of the
 * allocator and waits for requests of other streams. */
LARDER_API larder_result larder_alloc_hinted(larder_allocator *a,
                                             uint64_t bytes,
                                             larder_stream stream,
                                             larder_hint hint,
                                             larder_addr *out);

#ifdef __cplusplus
}
#endif

#endif
