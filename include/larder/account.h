/* account.h - one account of a device's memory: who holds how much of it, what
 * is kept for whom, and how much each may hold.
 *
 *   static void print(void *ctx, const larder_account_line *line)
 *   {
 *       printf("%-9s %-20s %llu\n", larder_owner_name(line->kind), line->name,
 *              (unsigned long long)line->held_bytes);
 *   }
 *   larder_account(a, print, NULL);
 *
 * The owners of an allocator draw on the account of its device: the default
 * pools with all that is cached, each private pool, each tag (tag.h) and each
 * region (region.h).  What an owner holds and does not use may serve the others
 * when memory runs out, down to its minimum; what it lacks of its minimum
 * nobody else of this allocator is given, so that it always comes back.
 *
 * Units are bytes.  Any thread may call at any time. */
#ifndef LARDER_ACCOUNT_H
#define LARDER_ACCOUNT_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, what it is).  Values are part of the ABI. */
#define LARDER_OWNER_MAP(X)                                                    \
    X(CACHE, 0, "cache")     /* the default pools, in use and free */          \
    X(POOL, 1, "pool")       /* a private pool */                              \
    X(TAG, 2, "tag")         /* a tag */                                       \
    X(REGION, 3, "region")   /* a region */                                    \
    X(REFUSED, 4, "refused") /* the device refused to take it back; it   \
                                      is asked again */     \
    X(ALLOCATORS, 5, "allocators") /* other allocators over this device */     \
    X(CONTEXT, 6, "context")       /* the driver's, for this process */        \
    X(OTHERS, 7, "others") /* other processes and libraries, and what  \
                                      the driver rounds up to */       \
    X(FREE, 8, "free")     /* nobody's */                                      \
    X(PINNED, 9, "pinned") /* of the host, not of the device: pinned   \
                                      for it, and what tags and regions that   \
                                      are paused keep there */

typedef enum larder_owner_kind {
#define X(name, value, text) LARDER_OWNER_##name = value,
    LARDER_OWNER_MAP(X)
#undef X
} larder_owner_kind;

/* "cache"; "?" for a value that is none.  Static. */
LARDER_API const char *larder_owner_name(larder_owner_kind kind);

/* A line of the account. */
typedef struct larder_account_line {
    size_t size; /* set by the library: sizeof(larder_account_line) there */
    larder_owner_kind kind;
    larder_pool_id pool;      /* of a private pool */
    const char *name;         /* of a tag or region, else ""; for the call */
    uint64_t held_bytes;      /* of the device (PINNED: of the host) */
    uint64_t used_bytes;      /* of these, handed out, committed, or waiting for
                                 a recorded stream */
    uint64_t asleep_bytes;    /* released by larder_pause(), and needed again
                                 by larder_resume() */
    uint64_t minimum_bytes;   /* kept for the owner; 0: nothing */
    uint64_t limit_bytes;     /* it may hold; 0: as much as there is */
    uint64_t available_bytes; /* it could still come to hold if all others gave
                                 up what they do not use; 0 for lines without an
                                 owner */
} larder_account_line;

typedef void larder_account_fn(void *ctx, const larder_account_line *line);

/* Call fn for each line, all from one moment: the cache, private pools, tags
 * and regions in the order they were made, then REFUSED, ALLOCATORS, CONTEXT,
 * OTHERS, FREE, PINNED, each once.  held_bytes of all lines but PINNED add up
 * to all that the device has.  fn must not call the allocator.
 *
 * Of an allocator of pinned memory, the device is the host.
 *
 * Asks the device once how much is free (cuMemGetInfo: 6 us on most cards);
 * O(owners, and streams of the default pools).  ERR_INVALID, and what the
 * device refuses. */
LARDER_API larder_result larder_account(larder_allocator *a,
                                        larder_account_fn *fn, void *ctx);

/* ---- minimums and limits -------------------------------------------------- */

/* Keep so much for an owner; 0: nothing, as at first.  It is not taken from the
 * device now: but the other owners of this allocator leave it, and what the
 * owner caches is not lent below it.  (Other allocators, processes and
 * libraries know nothing of it.)
 *
 * ERR_OUT_OF_MEMORY, and nothing changes, if all minimums together and what is
 * in use beyond them exceed the allocator's limit or the device: what is cached
 * beyond is released first if that makes the room.  ERR_UNKNOWN_POOL.
 * larder_tag_set_minimum() makes the tag if it is new. */
LARDER_API larder_result larder_cache_set_minimum(larder_allocator *a,
                                                  uint64_t bytes);
LARDER_API larder_result larder_pool_set_minimum(larder_allocator *a,
                                                 larder_pool_id id,
                                                 uint64_t bytes);
LARDER_API larder_result larder_tag_set_minimum(larder_allocator *a,
                                                const char *tag,
                                                uint64_t bytes);

/* Let the default pools hold at most so much, everything counted: what is in
 * use, cached, and mapped nowhere; 0: no limit.  What is held already stays.
 * (larder_pool_set_limit(), larder_tag_limit() and larder_region_set_limit()
 * are the other owners' limits, `limit:SIZE` is that of all together.) */
LARDER_API larder_result larder_cache_set_limit(larder_allocator *a,
                                                uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
