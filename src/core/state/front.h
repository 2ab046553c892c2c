/* front.h - what the requests and frees of one stream touch when its own free
 * blocks answer them: a lock, counts, spare headers.  Private to core.
 *
 * Only paged memory of the default pools has fronts.  The lock of a front
 * guards its stream's heaps and the segments, blocks and entries of the map
 * that belong to them; all fronts' locks and the allocator's, taken together,
 * guard everything, and that is how every other call works.  Order: the
 * allocator's lock, then the fronts' by number; who holds one front's lock
 * takes no other.
 *
 * Counting.  What one thread alone does is counted in one place and exact.
 * From the second thread on each front counts for itself, and what it counted
 * is added up when any call takes all locks, at the latest when it passes
 * fronts.allowance: the current values that are reported are always exact,
 * their peaks within the allowance for each front. */
#ifndef LARDER_CORE_FRONT_H
#define LARDER_CORE_FRONT_H

#include <pthread.h>

#include "core/state/allocator.h"

enum { FRONTS_MAX = 160 }; /* more streams do without: a number is a byte */

struct front {
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
static inline uintptr_t front_thread(void)
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

static inline unsigned front_hash(larder_stream stream)
{
    return (unsigned)((stream * UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - FRONT_SLOTS_LOG2));
}

/* The stream's front; NULL: it has none.  No lock is needed. */
static inline struct front *front_of(const struct allocator *a,
                                     larder_stream stream)
{
    for (unsigned i = front_hash(stream);; i++) {
        struct front *f = atomic_load_explicit(
            &a->fronts.slots[i % FRONT_SLOTS], memory_order_acquire);

        if (f == NULL || f->stream == stream)
            return f;
    }
}

/* The stream's front, made if there is none; NULL: no host memory, or too
 * many.  All locks are held, the new front's too. */
struct front *larder__front_make(struct allocator *a, larder_stream stream);

void larder__fronts_init(struct allocator *a);
void larder__fronts_destroy(struct allocator *a);

/* ---- all locks ------------------------------------------------------------ */

void larder__lock_all(struct allocator *a);
void larder__unlock_all(struct allocator *a);

/* The calling thread allocates or frees: with all locks, before anything is
 * counted in a front. */
void larder__front_enter(struct allocator *a);

/* Leave the stream's front, if there is one, with spare headers for the next
 * requests, as far as there is host memory, but not with too many. */
void larder__front_stock(struct allocator *a, larder_stream stream);

/* Headers that fronts have. */
uint32_t larder__front_headers(const struct allocator *a);

/* ---- headers -------------------------------------------------------------- */

static inline struct front *front_numbered(const struct allocator *a,
                                           unsigned number)
{
    return a->fronts.list[number];
}

/* A used header for a piece of b, of which only `self` can be relied on: one of
 * its front's, else the slab's.  There must be one. */
static inline struct block *front_take_used(struct allocator *a,
                                            const struct block *b)
{
    struct front *f = front_numbered(a, b->front);
    struct block *header;

    if (f == NULL || f->header_count == 0)
        return slab_take_used(&a->slab);
    header = slab_at(&a->slab, f->header_first);
    f->header_first = header->next;
    f->header_count--;
    return header;
}

/* A zeroed one, if need be one never used; the slab's must be ensured. */
static inline struct block *front_take_header(struct allocator *a,
                                              const struct block *b)
{
    const struct front *f = front_numbered(a, b->front);
    struct block *header;

    if (f == NULL || f->header_count == 0)
        return larder__slab_take(&a->slab);
    header = front_take_used(a, b);
    *header = (struct block){.self = header->self};
    return header;
}

static inline void front_give_header(struct allocator *a, struct block *header)
{
    struct front *f = front_numbered(a, header->front);

    if (f == NULL) {
        slab_give(&a->slab, header);
        return;
    }
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
static inline struct tally *front_tally(struct allocator *a, struct front *f,
                                        int64_t change)
{
    int64_t max = a->fronts.allowance;
    int64_t now;

    if (!a->fronts.is_shared)
        return a->fronts.owner == front_thread() ? &a->fronts.tally : NULL;
    now = tally_bytes(&f->tally) + change;
    return now > max || now < -max ? NULL : &f->tally;
}

#endif
