/* account.h - the account of a device's memory: how much each owner holds, what
 * is kept for it, and how much it may hold.
 *
 *   static void print(void *ctx, const larder_account_line *line)
 *   {
 *       printf("%-9s %-20s %llu\n", larder_owner_name(line->kind), line->name,
 *              (unsigned long long)line->held_bytes);
 *   }
 *   larder_account(a, print, NULL);
 *
 * The owners of an allocator are its default pools (including the cache), each
 * private pool, each tag (tag.h) and each region (region.h).  Unused memory of
 * one owner may serve the others when memory runs out, but not below the
 * owner's minimum.  While an owner holds less than its minimum, the allocator
 * gives the difference to no other owner, so the owner can always get it.
 *
 * Units are bytes.  Any thread may call at any time. */
#ifndef LARDER_ACCOUNT_H
#define LARDER_ACCOUNT_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text).  Values are part of the ABI. */
#define LARDER_OWNER_MAP(X)                                                    \
    X(CACHE, 0, "cache")     /* the default pools, in use and cached */        \
    X(POOL, 1, "pool")       /* a private pool */                              \
    X(TAG, 2, "tag")         /* a tag */                                       \
    X(REGION, 3, "region")   /* a region */                                    \
    X(REFUSED, 4, "refused") /* the device refused to release it; retried */   \
    X(ALLOCATORS, 5, "allocators") /* other allocators on this device */       \
    X(CONTEXT, 6, "context")       /* the driver, for this process */          \
    X(OTHERS, 7, "others") /* other processes, libraries, driver rounding */   \
    X(FREE, 8, "free")     /* free on the device */                            \
    X(PINNED, 9, "pinned") /* host memory: pinned, or kept of paused owners */

typedef enum larder_owner_kind {
#define X(name, value, text) LARDER_OWNER_##name = value,
    LARDER_OWNER_MAP(X)
#undef X
} larder_owner_kind;

/* "cache"; "?" for an unknown value.  Static. */
LARDER_API const char *larder_owner_name(larder_owner_kind kind);

/* A line of the account. */
typedef struct larder_account_line {
    size_t size; /* set by the library: its sizeof(larder_account_line) */
    larder_owner_kind kind;
    larder_pool_id pool;      /* of a private pool */
    const char *name;         /* of a tag or region, else ""; valid during the
                                 call */
    uint64_t held_bytes;      /* of the device (PINNED: of the host) */
    uint64_t used_bytes;      /* of these: allocated, committed, or waiting for
                                 a recorded stream; all that a paused owner
                                 holds, after a failure */
    uint64_t asleep_bytes;    /* released by larder_pause(): larder_resume()
                                 needs as much */
    uint64_t minimum_bytes;   /* kept for the owner; 0: none */
    uint64_t limit_bytes;     /* 0: none */
    uint64_t available_bytes; /* that it could still acquire if the others
                                 released what they do not use, down to their
                                 minimums: tags and regions have no part of
                                 reserved pieces; 0 for lines without an owner */
} larder_account_line;
#define LARDER_ACCOUNT_LINE_INIT LARDER_SIZED_INIT(larder_account_line)

typedef void larder_account_fn(void *ctx, const larder_account_line *line);

/* Call fn for each line of a consistent snapshot: the cache; private pools,
 * tags and regions in order of creation; then REFUSED, ALLOCATORS, CONTEXT,
 * OTHERS, FREE and PINNED, once each.  held_bytes of all lines except PINNED
 * add up to the device's total.  fn must not call the allocator.
 *
 * For an allocator of pinned memory the device is the host.
 *
 * Queries the device's free memory once (cuMemGetInfo: 6 us on most cards);
 * O(owners + streams of the default pools).  ERR_INVALID, or the error of that
 * query. */
LARDER_API larder_result larder_account(larder_allocator *a,
                                        larder_account_fn *fn, void *ctx);

/* ---- minimums and limits ------------------------------------------------- */

/* Set the minimum of an owner; 0 (the default): none.  Acquires no memory:
 * other owners of this allocator leave that much available, and the owner's
 * unused memory is not lent below it.  (Other allocators, processes and
 * libraries do not know of it.)
 *
 * ERR_OUT_OF_MEMORY, with no effect, if all minimums together and the memory in
 * use beyond them exceed the allocator's limit or the device; cached memory is
 * released first if that helps.  ERR_UNKNOWN_POOL if there is no such pool, or
 * to raise the minimum of one without users, which cannot grow.
 * larder_tag_set_minimum() creates the tag if there is none. */
LARDER_API larder_result larder_cache_set_minimum(larder_allocator *a,
                                                  uint64_t bytes);
LARDER_API larder_result larder_pool_set_minimum(larder_allocator *a,
                                                 larder_pool_id id,
                                                 uint64_t bytes);
LARDER_API larder_result larder_tag_set_minimum(larder_allocator *a,
                                                const char *tag,
                                                uint64_t bytes);

/* Limit what the default pools hold, in use, cached or not mapped; 0: no limit.
 * Memory already held stays.  (Limits of other owners: larder_pool_set_limit(),
 * larder_tag_limit(), larder_region_set_limit(); of the allocator: the setting
 * `limit:SIZE`.) */
LARDER_API larder_result larder_cache_set_limit(larder_allocator *a,
                                                uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
