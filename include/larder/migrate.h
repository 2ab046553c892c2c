/* migrate.h - when memory in use may be moved.
 *
 * What lives keeps its address when its bytes are copied to other memory of the
 * device, which is then mapped in its place.  The policy `larder` does that
 * rather than fail for lack of memory, on devices with virtual memory, where
 * much is free in handles that are not free as a whole.  It is only right while
 * nothing else touches that memory, which no library below the program can
 * know: so the program says when.
 *
 *   larder_migrate_begin(a);           // no other thread queues work now
 *   r = larder_alloc(a, bytes, stream, &addr);
 *   larder_migrate_end(a);
 *
 * or for good, with the setting migrate:on (larder-conf(5)).
 *
 * What is promised: until the allocations in between have returned, nothing is
 * queued that touches memory of this allocator, on any stream, nor does the
 * host touch it.  What was queued before is waited for, on stream 0, on all
 * streams that memory was asked for on, and on those recorded for what lives
 * now; work on other streams is over when it is begun.  A captured graph
 * counts as work while it runs.
 *
 * Never moved: what is exported, what lies in private pools and in tags; and
 * nothing at all while allocations may be part of a capture, or under
 * defrag:off. */
#ifndef LARDER_MIGRATE_H
#define LARDER_MIGRATE_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now until larder_migrate_end(), any thread's allocations may move what
 * lives.  They nest, and begin and end may be called by different threads.  No
 * effect under other policies. */
LARDER_API larder_result larder_migrate_begin(larder_allocator *a);

/* ERR_INVALID if there is none to end. */
LARDER_API larder_result larder_migrate_end(larder_allocator *a);

#ifdef __cplusplus
}
#endif
#endif
