/* map.h - from an address to the live block that begins there, in O(1).
 * Private to core.
 *
 * A radix tree over granules of 2 MiB.  A granule has 16 entries, one for each
 * 128 KiB: enough where blocks are larger than that, as then no two begin in
 * the same.  A granule that is cut finer gets a table, with an entry for every
 * 256 of its bytes.  An entry is a header's number, and the header has the
 * address that it is for.
 *
 * Leaves and tables stay until the map goes, and what they say of a granule is
 * one atomic word, so that a granule's shard can be looked up without a lock.
 * Entries belong to whose lock guards the blocks (shard.h).
 *
 * Cost in host memory: 145 KiB for 4 GiB of addresses, at most 32 KiB for each
 * granule with a table: 4 KiB for each 256 KiB that a block began in; the table
 * of leaves is 256 KiB, of which little is touched. */
#ifndef LARDER_CORE_MAP_H
#define LARDER_CORE_MAP_H

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
    MAP_LOT = 16, /* tables had at once */
    MAP_SLOT_LOG2 = 17,
    MAP_SLOTS = 1 << (MAP_GRANULE_LOG2 - MAP_SLOT_LOG2)
};

/* What is known of a granule: the host address of its entries, how far to
 * shift an offset in it to find the number of one, and the shard that its
 * blocks belong to.  0: no room was made for it. */
typedef _Atomic uint64_t map_granule;

enum { MAP_SHIFT_AT = 48, MAP_SHIFT_BITS = 6, MAP_SHARD_AT = 56 };

struct map_leaf {
    map_granule granules[1 << MAP_LEAF_LOG2];
    _Atomic uint32_t slots[1 << MAP_LEAF_LOG2][MAP_SLOTS];
    uint64_t number; /* which 4 GiB it is for */
    struct map_leaf *next;
};

/* Tables come many at once: what is that large the C library has from the
 * system, all 0 and without a page of it touched, so that a table costs what is
 * in use of its granule. */
struct map_lot {
    _Atomic uint32_t tables[MAP_LOT][MAP_TABLE];
    unsigned used;
    struct map_lot *next;
};

/* A processor's user addresses end at 2^47, and a GPU's are of the same space:
 * leaves below are found with one load, any others by looking through all. */
struct map {
    _Atomic(struct map_leaf *) *low;   /* 1 << MAP_LOW_LOG2, by number */
    _Atomic(struct map_leaf *) leaves; /* all, the last made first */
    struct map_lot *lots; /* the same; words hide the addresses of tables from
                             whoever looks for lost memory */
};

bool larder__map_init(struct map *map);
void larder__map_destroy(struct map *map);

/* Make room so that blocks in [addr, addr + bytes) can be put in.  `fine`:
 * some may be of 128 KiB or less.  False: no host memory, or addresses that
 * wrap around; what was made stays, and does no harm.  `shard`: the number of
 * the shard that the blocks there belong to, 0: none. */
bool larder__map_prepare(struct map *map, struct slab *slab, larder_addr addr,
                         uint64_t bytes, bool fine, uint8_t shard);

/* ---- granules ------------------------------------------------------------- */

/* A leaf that is not among the low ones; NULL: none. */
struct map_leaf *larder__map_high_leaf(const struct map *map, uint64_t leaf);

static inline unsigned map_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_GRANULE_LOG2) & ((1 << MAP_LEAF_LOG2) - 1);
}

/* NULL: no room was made near it, or it is not below 2^47. */
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

/* Where the entry for addr is; NULL: no room was made.  Without a branch on
 * which kind it is: small and large blocks come in no order. */
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

/* ---- blocks --------------------------------------------------------------- */

/* The block in that granule that begins at addr; NULL: none does. */
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

static inline struct block *map_find(const struct map *map, struct slab *slab,
                                     larder_addr addr)
{
    const map_granule *granule = map_granule_of(map, addr);

    return granule == NULL ? NULL : map_find_in(granule, slab, addr);
}

/* Put in a block; room was prepared, nothing is there. */
static inline void map_put(struct map *map, const struct block *b)
{
    _Atomic uint32_t *entry = map_entry(map_granule_of(map, b->addr), b->addr);

    larder__assert(entry != NULL);
    larder__assert(atomic_load_explicit(entry, memory_order_relaxed) == 0);
    larder__assert(b->state == BLOCK_LIVE);
    atomic_store_explicit(entry, b->self, memory_order_relaxed);
}

/* Remove a block that is there. */
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

#endif
