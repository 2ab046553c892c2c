/* map.h - finds the live block that begins at an address, in O(1).  Private to
 * core.
 *
 * A radix tree over granules of 2 MiB.  A granule has 16 entries, one for each
 * 128 KiB; this is enough where all blocks are larger than that, because no two
 * of them begin in the same 128 KiB.  A granule with smaller blocks gets a
 * table, with one entry for every 256 bytes.  An entry is the number of a
 * header, and the header has the block's address.
 *
 * Leaves and tables are freed only with the map, and everything known about a
 * granule is one atomic word, so a granule's shard can be looked up without a
 * lock.  Entries are guarded by the lock that guards their blocks (shard.h).
 *
 * Host memory: 145 KiB for each 4 GiB of addresses, and at most 32 KiB for each
 * granule with a table (4 KiB for each 256 KiB in which a block has begun); the
 * table of leaves is 256 KiB, of which little is touched. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <larder/larder.h>

#include "core/block/slab.h"

enum {
    MAP_GRANULE_LOG2 = 21,
    MAP_UNIT_LOG2 = 8,
    MAP_TABLE = 1 << (MAP_GRANULE_LOG2 - MAP_UNIT_LOG2),
    MAP_LEAF_LOG2 = 11, /* granules in a leaf */
    MAP_LOW_LOG2 = 47 - MAP_GRANULE_LOG2 - MAP_LEAF_LOG2,
    MAP_LOT = 16, /* tables allocated at once */
    MAP_SLOT_LOG2 = 17,
    MAP_SLOTS = 1 << (MAP_GRANULE_LOG2 - MAP_SLOT_LOG2)
};

/* What is known about a granule: the host address of its entries, the shift
 * that turns an offset in the granule into the index of an entry, and the shard
 * of its blocks.  0: no room was made for the granule. */
typedef _Atomic uint64_t map_granule;

enum { MAP_SHIFT_AT = 48, MAP_SHIFT_BITS = 6, MAP_SHARD_AT = 56 };

struct map_leaf {
    map_granule granules[1 << MAP_LEAF_LOG2];
    _Atomic uint32_t slots[1 << MAP_LEAF_LOG2][MAP_SLOTS];
    uint64_t number; /* which 4 GiB it covers */
    struct map_leaf *next;
};

/* Tables are allocated many at a time: the C library takes so large an
 * allocation from the system, zeroed and without touching its pages, so that a
 * table costs only the parts of it that are used. */
struct map_lot {
    _Atomic uint32_t tables[MAP_LOT][MAP_TABLE];
    unsigned used;
    struct map_lot *next;
};

/* User addresses of current CPUs end at 2^47, and GPU addresses share that
 * space.  Leaves below 2^47 are found with one load, others by a search through
 * all. */
struct map {
    _Atomic(struct map_leaf *) *low;   /* 1 << MAP_LOW_LOG2, by number */
    _Atomic(struct map_leaf *) leaves; /* all, newest first */
    /* The same order.  Granule words encode the tables' addresses, so this list
     * also keeps the tables reachable for leak checkers. */
    struct map_lot *lots;
};

/* Make an empty map; `map` is zeroed.  False: no host memory. */
bool larder__map_init(struct map *map);
/* Free its host memory; accepts a map that was never made. */
void larder__map_destroy(struct map *map);

/* Make room for blocks in [addr, addr + bytes), which belong to shard number
 * `shard` (0: none). `fine`: some may be of 128 KiB or less.  False: no host
 * memory, or the addresses wrap around; what was made stays and does no
 * harm. */
bool larder__map_prepare(struct map *map, struct slab *slab, larder_addr addr,
                         uint64_t bytes, bool fine, uint8_t shard);

/* ---- granules ----------------------------------------------------------- */

/* Find a leaf that is not below 2^47.  NULL: none. */
struct map_leaf *larder__map_high_leaf(const struct map *map, uint64_t leaf);

static inline unsigned map_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_GRANULE_LOG2) & ((1 << MAP_LEAF_LOG2) - 1);
}

/* NULL: no room was made, or the address is not below 2^47. */
static inline map_granule *map_low_granule(const struct map *map,
                                           larder_addr addr)
{
    uint64_t number = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);
    struct map_leaf *leaf;

    if (number >= UINT64_C(1) << MAP_LOW_LOG2)
        return NULL;
    leaf = atomic_load_explicit(&map->low[number], memory_order_acquire);
    return leaf == NULL ? NULL : &leaf->granules[map_index(addr)];
}

static inline map_granule *map_granule_of(const struct map *map,
                                          larder_addr addr)
{
    uint64_t number = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);
    struct map_leaf *leaf;

    if (number < UINT64_C(1) << MAP_LOW_LOG2)
        return map_low_granule(map, addr);
    leaf = larder__map_high_leaf(map, number);
    return leaf == NULL ? NULL : &leaf->granules[map_index(addr)];
}

/* The number of the shard that the granule's blocks belong to; 0: none. */
static inline unsigned map_shard(const map_granule *granule)
{
    return (unsigned)(atomic_load_explicit(granule, memory_order_acquire) >>
                      MAP_SHARD_AT);
}

/* The entry for addr.  NULL: no room was made.  Free of branches on the kind of
 * entry, because small and large blocks alternate unpredictably. */
static inline _Atomic uint32_t *map_entry(const map_granule *granule,
                                          larder_addr addr)
{
    uint64_t word = atomic_load_explicit(granule, memory_order_acquire);
    uint64_t entries = word & ((UINT64_C(1) << MAP_SHIFT_AT) - 1);
    unsigned shift = word >> MAP_SHIFT_AT & ((1 << MAP_SHIFT_BITS) - 1);
    uint64_t offset = addr & ((UINT64_C(1) << MAP_GRANULE_LOG2) - 1);

    if (entries == 0)
        return NULL;
    return (_Atomic uint32_t *)(uintptr_t)entries + (offset >> shift);
}

/* ---- blocks ------------------------------------------------------------- */

/* The block in this granule that begins at addr.  NULL: none. */
static inline struct block *map_find_in(const map_granule *granule,
                                        struct slab *slab, larder_addr addr)
{
    _Atomic uint32_t *entry = map_entry(granule, addr);
    struct block *b;

    if (entry == NULL)
        return NULL;
    b = slab_get(slab, atomic_load_explicit(entry, memory_order_relaxed));
    return b != NULL && b->addr == addr ? b : NULL;
}

/* The same in any granule. */
static inline struct block *map_find(const struct map *map, struct slab *slab,
                                     larder_addr addr)
{
    const map_granule *granule = map_granule_of(map, addr);

    return granule == NULL ? NULL : map_find_in(granule, slab, addr);
}

/* Insert a live block; room was made for it and its entry is empty. */
static inline void map_put(struct map *map, const struct block *b)
{
    _Atomic uint32_t *entry = map_entry(map_granule_of(map, b->addr), b->addr);

    larder__assert(entry != NULL);
    larder__assert(atomic_load_explicit(entry, memory_order_relaxed) == 0);
    larder__assert(b->state == BLOCK_LIVE);
    atomic_store_explicit(entry, b->self, memory_order_relaxed);
}

/* Remove a block that is in the map. */
static inline void map_remove_in(const map_granule *granule,
                                 const struct block *b)
{
    _Atomic uint32_t *entry = map_entry(granule, b->addr);

    larder__assert(entry != NULL);
    larder__assert(atomic_load_explicit(entry, memory_order_relaxed) ==
                   b->self);
    atomic_store_explicit(entry, 0, memory_order_relaxed);
}

static inline void map_remove(struct map *map, const struct block *b)
{
    map_remove_in(map_granule_of(map, b->addr), b);
}
