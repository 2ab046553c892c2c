/* migrate.h - when live allocations may be moved.
 *
 * A live allocation keeps its address when its contents are copied to other
 * physical memory that is then mapped in its place.  The policy `larder` does
 * this instead of running out of memory, on devices with virtual memory, when
 * free memory lies in handles that are partly in use.  It is correct only while
 * nothing else accesses that memory.  A library cannot know this, so the
 * program declares it:
 *
 *   larder_migrate_begin(a);           // no other thread queues work now
 *   r = larder_alloc(a, bytes, stream, &addr);
 *   larder_migrate_end(a);
 *
 * or permanently, with the setting migrate:on (larder-conf(5)); or it installs a
 * guard that holds work back (larder_migrate_guard()).
 *
 * The program promises that, until the allocations in between have returned, no
 * work is queued on any stream that accesses memory of this allocator, and that
 * the host does not access it.  Larder waits for work queued earlier on stream
 * 0, on all streams that memory was allocated for, and on the streams recorded
 * for live allocations; the program makes sure that work on other streams has
 * completed before larder_migrate_begin().  A running graph counts as work.
 *
 * A move that fails is undone.  If the device fails to undo it too, the error,
 * which is never ERR_OUT_OF_MEMORY, names the addresses: the contents of live
 * allocations there are kept, but must not be accessed, and are not exported,
 * until a later call maps them again; larder_trim(), larder_empty_cache() and
 * every request that cannot be served otherwise try to, the last two failing with
 * the same words while they cannot.
 * Meanwhile no request gets free memory there, and each takes longer.
 *
 * Never moved: exported memory, private pools and tags; and nothing while
 * allocations may be part of a capture, or under defrag:off. */
#ifndef LARDER_MIGRATE_H
#define LARDER_MIGRATE_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Until larder_migrate_end(), allocations of any thread may move live
 * allocations.  Calls nest; begin and end may come from different threads.  No
 * effect under other policies. */
LARDER_API larder_result larder_migrate_begin(larder_allocator *a);

/* ERR_INVALID without a larder_migrate_begin(). */
LARDER_API larder_result larder_migrate_end(larder_allocator *a);

/* Holds back all work that could access the allocator's memory, on any stream
 * and of any thread, and waits until none is queued.  Called by a request that
 * would otherwise fail, and that moving live allocations would serve; whatever
 * else than OK it returns, nothing moves.  The allocator is locked meanwhile: it
 * must not be called, nor a thread waited for that calls it. */
typedef larder_result larder_hold_fn(void *ctx);
/* Lets work pass again, in the same thread. */
typedef void larder_release_fn(void *ctx);

/* From now on live allocations may move between `hold` and `release`, without
 * promises of the program, unless the setting migrate:off is given.  NULL for
 * both: no longer.  ERR_INVALID for one of them.  No effect under other
 * policies. */
LARDER_API larder_result larder_migrate_guard(larder_allocator *a,
                                              larder_hold_fn *hold,
                                              larder_release_fn *release,
                                              void *ctx);

#ifdef __cplusplus
}
#endif
#endif
