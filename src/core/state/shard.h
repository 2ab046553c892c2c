/* shard.h - all that requests and frees of one stream touch on the fast path: a
 * lock, counts, spare headers.  Private to core.
 *
 * Only paged memory of the default pools has shards.  A shard's lock guards its
 * stream's heaps and the segments, blocks and map entries that belong to them.
 * All shards' locks and the allocator's together guard everything, and every
 * other call takes them all.  Lock order: the allocator's lock, then the
 * shards' by number; a thread that holds only one shard's lock takes no other
 * but shards.common (fast.h).
 *
 * Counting: while only one thread allocates, everything is counted in one place
 * and exactly.  From the second thread on, each shard counts by itself, and its
 * counts are added up whenever a call takes all locks, at the latest when a
 * shard exceeds shards.allowance.  Reported current values are always exact;
 * peaks are exact to within the allowance for each shard. */
#pragma once

#include <pthread.h>

#include "core/state/audit.h"

enum { SHARDS_MAX = 160 }; /* a number is a byte; more streams have none */

/* Other processes see what this one uses to within this much for each shard,
 * however long it is idle.  Telling them takes the slow path: a smaller number
 * would keep large requests from the fast one. */
#define SHARDS_TOLD_WITHIN ((INT64_C(64) << 20) - 1)

struct shard {
    struct lock lock;
    uint8_t number; /* from 1 */
    larder_stream stream;
    struct heap *heaps[POOL_KINDS]; /* NULL: none yet */
    uint32_t unasked;               /* requests since events were last polled */
    uint32_t header_first;          /* spare headers, linked by `next` */
    uint32_t header_count;
    struct tally tally;
} __attribute__((aligned(128))); /* own pairs of cache lines */

/* ---- threads -------------------------------------------------------------- */

/* A value that no other thread has at the same time: the thread pointer, where
 * its location is part of the ABI.  A thread-local variable as fast as that
 * would need static TLS, and a library with static TLS cannot be loaded into a
 * running program. */
static inline uintptr_t shard_thread(void)
{
    uintptr_t self;

#if defined __x86_64__ && defined __LP64__
    __asm__("mov %%fs:0, %0" : "=r"(self));
#elif defined __aarch64__
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
#else
    self = (uintptr_t)pthread_self();
#endif
    return self;
}

/* ---- finding -------------------------------------------------------------- */

static inline unsigned shard_hash(larder_stream stream)
{
    return (unsigned)((stream * UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - SHARD_SLOTS_LOG2));
}

/* The stream's shard.  NULL: none.  Needs no lock. */
static inline struct shard *shard_of(const struct allocator *a,
                                     larder_stream stream)
{
    for (unsigned i = shard_hash(stream);; i++) {
        struct shard *f = atomic_load_explicit(
            &a->shards.slots[i % SHARD_SLOTS], memory_order_acquire);

        if (f == NULL || f->stream == stream)
            return f;
    }
}

/* The stream's shard, created if necessary.  NULL: no host memory, or too many
 * shards.  All locks are held, on return the new shard's too. */
struct shard *larder__shard_make(struct allocator *a, larder_stream stream);

/* Before the allocator is used: no shards, and no bell. */
void larder__shards_init(struct allocator *a);

/* From now on the allocator looks out for `bell`, and other processes know its
 * use to within SHARDS_TOLD_WITHIN for each shard; NULL: no longer. */
void larder__shards_set_bell(struct allocator *a, const _Atomic uint32_t *bell);
void larder__shards_destroy(struct allocator *a);

/* Whether another process asks for memory (peers.h).  Needs no lock. */
static inline bool shards_are_called(const struct allocator *a)
{
    return a->shards.bell != NULL &&
           atomic_load_explicit(a->shards.bell, memory_order_relaxed) != 0;
}

/* Whether hits take the careful path.  Needs no lock, but only under a shard's
 * lock does the answer stay true. */
static inline bool shards_are_careful(const struct allocator *a)
{
    return atomic_load_explicit(&a->shards.is_careful, memory_order_relaxed);
}

/* Whether the thread may call filters and write to the history: it holds all
 * locks, or one shard's and the common one. */
static inline bool shards_common_is_held(const struct allocator *a)
{
    return allocator_is_locked(a) || larder__witness_holds(&a->shards.common);
}

/* ---- all locks ------------------------------------------------------------ */

/* Take the locks of all shards and add up their counts; the allocator's lock is
 * held. */
void larder__shards_lock(struct allocator *a);
void larder__shards_unlock(struct allocator *a);

/* Policies without shards have only the allocator's lock. */
static inline void allocator_lock(struct allocator *a)
{
    lock_take(&a->lock);
    if (a->shards.count > 0)
        larder__shards_lock(a);
}

static inline void allocator_unlock(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    larder__audit(a);
    if (a->shards.count > 0)
        larder__shards_unlock(a);
    lock_leave(&a->lock);
}

/* A thread other than the owner allocates or frees.  The first thread becomes
 * the owner; from the second on, each shard counts by itself. */
void larder__shards_note_thread(struct allocator *a);

/* The calling thread allocates or frees.  Call it with all locks held, before
 * anything is counted in a shard. */
static inline void shards_enter(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    if (a->shards.owner != shard_thread())
        larder__shards_note_thread(a);
}

/* Give the stream's shard, if any, spare headers for its next requests, as far
 * as host memory allows, and take back those beyond its maximum. */
void larder__shard_stock(struct allocator *a, larder_stream stream);

/* Headers that shards keep spare. */
uint32_t larder__shard_headers(const struct allocator *a);

/* ---- headers -------------------------------------------------------------- */

static inline struct shard *shard_numbered(const struct allocator *a,
                                           unsigned number)
{
    return a->shards.list[number];
}

/* Take the first of f's spare headers, of which only `self` is valid, or give it
 * one.  f's lock is held. */
static inline struct block *shard_pop_header(struct allocator *a,
                                             struct shard *f)
{
    struct block *header = slab_at(&a->slab, f->header_first);

    larder__assert(larder__witness_holds(&f->lock) && f->header_count > 0);
    larder__assert(header->state == BLOCK_UNUSED);
    larder__assert(header->shard == f->number);
    f->header_first = header->next;
    f->header_count--;
    larder__assert((f->header_first == 0) == (f->header_count == 0));
    return header;
}

static inline void shard_push_header(struct shard *f, struct block *header)
{
    larder__assert(larder__witness_holds(&f->lock));
    larder__assert(header->shard == f->number);
    larder__assert(f->header_first != header->self);
    header->state = BLOCK_UNUSED;
    header->next = f->header_first;
    f->header_first = header->self;
    f->header_count++;
}

/* Take a used header, of which only `self` is valid, for a part of b: from b's
 * shard, else from the slab.  There must be one. */
static inline struct block *shard_take_used(struct allocator *a,
                                            const struct block *b)
{
    struct shard *f = shard_numbered(a, b->shard);

    return f == NULL || f->header_count == 0 ? slab_take_used(&a->slab)
                                             : shard_pop_header(a, f);
}

/* Take a zeroed header, a new one if necessary; the slab's headers must be
 * ensured. */
static inline struct block *shard_take_header(struct allocator *a,
                                              const struct block *b)
{
    const struct shard *f = shard_numbered(a, b->shard);
    struct block *header;

    if (f == NULL || f->header_count == 0)
        return larder__slab_take(&a->slab);
    header = shard_take_used(a, b);
    *header = (struct block){.self = header->self};
    return header;
}

static inline void shard_give_header(struct allocator *a, struct block *header)
{
    struct shard *f = shard_numbered(a, header->shard);

    if (f == NULL)
        slab_give(&a->slab, header);
    else
        shard_push_header(f, header);
}

/* ---- counting ------------------------------------------------------------- */

/* Where this thread, which holds the lock of f, counts a change of `change`
 * allocated bytes.  NULL: the counts must be added up first, or the second
 * thread made known.  A change above the allowance is never counted here,
 * because others would miss it. */
static inline struct tally *shard_tally(struct allocator *a, struct shard *f,
                                        int64_t change)
{
    const struct shards *s = &a->shards;

    larder__assert(larder__witness_holds(&f->lock));
    larder__assert(s->allowance > 0);
    if (s->is_shared)
        return tally_stays_within(&f->tally, change, s->allowance) ? &f->tally
                                                                   : NULL;
    return s->owner == shard_thread() &&
                   (s->bell == NULL ||
                    tally_stays_within(&s->tally, change, SHARDS_TOLD_WITHIN))
               ? &a->shards.tally
               : NULL;
}
