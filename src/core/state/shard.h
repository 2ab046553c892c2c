/* shard.h - what the requests and frees of one stream touch when its own free
 * blocks answer them: a lock, counts, spare headers.  Private to core.
 *
 * Only paged memory of the default pools has shards.  The lock of a shard
 * guards its stream's heaps and the segments, blocks and entries of the map
 * that belong to them; all shards' locks and the allocator's, taken together,
 * guard everything, and that is how every other call works.  Order: the
 * allocator's lock, then the shards' by number; who holds one shard's lock
 * takes no other.
 *
 * Counting.  What one thread alone does is counted in one place and exact.
 * From the second thread on each shard counts for itself, and what it counted
 * is added up when any call takes all locks, at the latest when it passes
 * shards.allowance: the current values that are reported are always exact,
 * their peaks within the allowance for each shard. */
#ifndef LARDER_CORE_SHARD_H
#define LARDER_CORE_SHARD_H

#include <pthread.h>

#include "core/state/audit.h"

enum { SHARDS_MAX = 160 }; /* more streams do without: a number is a byte */

struct shard {
    struct lock lock;
    uint8_t number; /* from 1 */
    larder_stream stream;
    struct heap *heaps[POOL_KINDS]; /* NULL: none yet */
    uint32_t unasked;      /* requests since somebody was to ask about events */
    uint32_t header_first; /* spare ones, linked by `next` */
    uint32_t header_count;
    struct tally tally;
} __attribute__((aligned(128))); /* lines, and pairs of them, of its own */

/* ---- threads -------------------------------------------------------------- */

/* A value no other thread has at the same time: the thread pointer, where its
 * place is part of the ABI.  A thread-local variable of ours that is found as
 * fast could not be loaded into a program that runs (its block would have to
 * be static). */
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

/* The stream's shard; NULL: it has none.  No lock is needed. */
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

/* The stream's shard, made if there is none; NULL: no host memory, or too
 * many.  All locks are held, the new shard's too. */
struct shard *larder__shard_make(struct allocator *a, larder_stream stream);

void larder__shards_init(struct allocator *a);
void larder__shards_destroy(struct allocator *a);

/* Whether another process asks for something (peers.h): no lock is needed. */
static inline bool shards_are_called(const struct allocator *a)
{
    return a->shards.bell != NULL &&
           atomic_load_explicit(a->shards.bell, memory_order_relaxed) != 0;
}

/* ---- all locks ------------------------------------------------------------ */

/* Those of the shards there are, when the allocator's is held; and what they
 * counted is added up. */
void larder__shards_lock(struct allocator *a);
void larder__shards_unlock(struct allocator *a);

/* Under the policies without shards, all locks are one. */
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

/* This thread, which is not the owner, allocates or frees. */
void larder__shards_meet(struct allocator *a);

/* The calling thread allocates or frees: with all locks, before anything is
 * counted in a shard. */
static inline void shards_enter(struct allocator *a)
{
    larder__assert(allocator_is_locked(a));
    if (a->shards.owner != shard_thread())
        larder__shards_meet(a);
}

/* Leave the stream's shard, if there is one, with spare headers for the next
 * requests, as far as there is host memory, but not with too many. */
void larder__shard_stock(struct allocator *a, larder_stream stream);

/* Headers that shards have. */
uint32_t larder__shard_headers(const struct allocator *a);

/* ---- headers -------------------------------------------------------------- */

static inline struct shard *shard_numbered(const struct allocator *a,
                                           unsigned number)
{
    return a->shards.list[number];
}

/* A used header for a piece of b, of which only `self` can be relied on: one of
 * its shard's, else the slab's.  There must be one. */
static inline struct block *shard_take_used(struct allocator *a,
                                            const struct block *b)
{
    struct shard *f = shard_numbered(a, b->shard);
    struct block *header;

    if (f == NULL || f->header_count == 0)
        return slab_take_used(&a->slab);
    header = slab_at(&a->slab, f->header_first);
    larder__assert(larder__witness_holds(&f->lock));
    larder__assert(header->state == BLOCK_UNUSED);
    larder__assert(header->shard == f->number);
    f->header_first = header->next;
    f->header_count--;
    larder__assert((f->header_first == 0) == (f->header_count == 0));
    return header;
}

/* A zeroed one, if need be one never used; the slab's must be ensured. */
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

    if (f == NULL) {
        slab_give(&a->slab, header);
        return;
    }
    larder__assert(larder__witness_holds(&f->lock));
    larder__assert(header->shard == f->number);
    larder__assert(f->header_first != header->self);
    header->state = BLOCK_UNUSED;
    header->next = f->header_first;
    f->header_first = header->self;
    f->header_count++;
}

/* ---- counting ------------------------------------------------------------- */

/* Where this thread counts in f, whose lock it holds, that the bytes allocated
 * change by so many; NULL: what was counted has to be added up before, or made
 * known that there is a second thread.  A change above the allowance is never
 * counted here: what other streams count meanwhile would miss it. */
static inline struct tally *shard_tally(struct allocator *a, struct shard *f,
                                        int64_t change)
{
    int64_t max = a->shards.allowance;
    int64_t now;

    larder__assert(larder__witness_holds(&f->lock));
    larder__assert(max > 0);
    if (!a->shards.is_shared)
        return a->shards.owner == shard_thread() ? &a->shards.tally : NULL;
    now = tally_bytes(&f->tally) + change;
    return now > max || now < -max ? NULL : &f->tally;
}

#endif
