/* map.h - from an address to the live block that begins there, in O(1).
 * Private to core.
 *
 * A radix tree over granules of 2 MiB.  A granule's entry is 16 slots, one for
 * each 128 KiB: enough where blocks are larger than that, as then no two begin
 * in the same.  A granule that is cut finer gets a table, four bytes for every
 * 256 of its bytes.
 *
 * Entries are atomic, and leaves and tables stay until the map goes, so that a
 * lookup needs no lock: one of a stale address never touches freed memory.
 *
 * Cost in host memory: 256 KiB for 4 GiB of addresses, 32 KiB for each granule
 * with a table; the table of leaves is 256 KiB, of which little is touched. */
#ifndef LARDER_CORE_MAP_H
#define LARDER_CORE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include <larder/larder.h>

enum {
    MAP_GRANULE_LOG2 = 21,
    MAP_UNIT_LOG2 = 8,
    MAP_TABLE = 1 << (MAP_GRANULE_LOG2 - MAP_UNIT_LOG2),
    MAP_LEAF_LOG2 = 11, /* granules in a leaf */
    MAP_LOW_LOG2 = 47 - MAP_GRANULE_LOG2 - MAP_LEAF_LOG2,
    MAP_SLOT_LOG2 = 17,
    MAP_SLOTS = 1 << (MAP_GRANULE_LOG2 - MAP_SLOT_LOG2)
};

struct map_granule {
    /* 0: nothing; odd: a block's place and number; else, in the first slot, a
     * table's address. */
    _Atomic uint64_t slots[MAP_SLOTS];
};

struct map_leaf {
    struct map_granule granules[1 << MAP_LEAF_LOG2];
    uint64_t number; /* which 4 GiB it is for */
    /* Of each granule: the front that its blocks belong to (front.h). */
    _Atomic uint8_t fronts[1 << MAP_LEAF_LOG2];
    struct map_leaf *next;
};

/* A processor's user addresses end at 2^47, and a GPU's are of the same space:
 * leaves below are found with one load, any others by looking through all. */
struct map {
    _Atomic(struct map_leaf *) *low;   /* 1 << MAP_LOW_LOG2, by number */
    _Atomic(struct map_leaf *) leaves; /* all, the last made first */
};

bool larder__map_init(struct map *map);
void larder__map_destroy(struct map *map);

/* Make room so that blocks in [addr, addr + bytes) can be put in.  `fine`:
 * some may be of 128 KiB or less.  False: no host memory, or addresses that wrap
 * around; what was made stays, and does no harm.  `front`: the number of the
 * front that the blocks there belong to, 0: none. */
bool larder__map_prepare(struct map *map, larder_addr addr, uint64_t bytes,
                         bool fine, uint8_t front);

/* ---- entries -------------------------------------------------------------- */

enum {
    SLOT_UNIT_SHIFT = 1, /* bits 1 to 15: the block's place in the granule */
    SLOT_NUMBER_SHIFT = 16
};

static inline uint64_t slot_direct(larder_addr addr, uint32_t number)
{
    uint64_t unit = (addr >> MAP_UNIT_LOG2) % MAP_TABLE;

    return (uint64_t)number << SLOT_NUMBER_SHIFT | unit << SLOT_UNIT_SHIFT | 1;
}

static inline uint32_t slot_number(uint64_t slot)
{
    return (uint32_t)(slot >> SLOT_NUMBER_SHIFT);
}

static inline _Atomic uint32_t *slot_table(uint64_t slot)
{
    return slot == 0 || (slot & 1) ? NULL : (_Atomic uint32_t *)(uintptr_t)slot;
}

static inline uint64_t slot_load(const struct map_granule *granule, unsigned i)
{
    return atomic_load_explicit(&granule->slots[i], memory_order_acquire);
}

static inline unsigned table_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_UNIT_LOG2) % MAP_TABLE;
}

/* A leaf that is not among the low ones; NULL: none. */
struct map_leaf *larder__map_high_leaf(const struct map *map, uint64_t leaf);

static inline struct map_leaf *map_leaf_of(const struct map *map,
                                           larder_addr addr)
{
    uint64_t leaf = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);

    if (leaf >= UINT64_C(1) << MAP_LOW_LOG2)
        return larder__map_high_leaf(map, leaf);
    return atomic_load_explicit(&map->low[leaf], memory_order_acquire);
}

static inline unsigned map_granule_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_GRANULE_LOG2) & ((1 << MAP_LEAF_LOG2) - 1);
}

/* The granule's entry; NULL if no room was made for it. */
static inline struct map_granule *map_granule(const struct map *map,
                                              larder_addr addr)
{
    struct map_leaf *leaf = map_leaf_of(map, addr);

    return leaf == NULL ? NULL : &leaf->granules[map_granule_index(addr)];
}

/* The number of the front that the blocks there belong to; 0: none. */
static inline unsigned map_front(const struct map *map, larder_addr addr)
{
    const struct map_leaf *leaf = map_leaf_of(map, addr);

    return leaf == NULL
               ? 0
               : atomic_load_explicit(&leaf->fronts[map_granule_index(addr)],
                                      memory_order_relaxed);
}

/* ---- blocks --------------------------------------------------------------- */

static inline unsigned slot_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_SLOT_LOG2) % MAP_SLOTS;
}

/* Put in a block that begins at addr; room was prepared, nothing is there. */
static inline void map_put(struct map *map, larder_addr addr, uint32_t number)
{
    struct map_granule *granule = map_granule(map, addr);
    _Atomic uint32_t *table = slot_table(slot_load(granule, 0));

    if (table != NULL)
        atomic_store_explicit(&table[table_index(addr)], number,
                              memory_order_release);
    else
        atomic_store_explicit(&granule->slots[slot_index(addr)],
                              slot_direct(addr, number), memory_order_release);
}

/* Whether a slot holds the block that begins at addr. */
static inline bool slot_is(uint64_t slot, larder_addr addr)
{
    return (slot & 1) != 0 && ((slot ^ slot_direct(addr, 0)) &
                               ((1 << SLOT_NUMBER_SHIFT) - 1)) == 0;
}

static inline bool addr_is_aligned(larder_addr addr)
{
    return (addr & ((1 << MAP_UNIT_LOG2) - 1)) == 0;
}

/* Where the entry for an address stands; neither is set where there is no room
 * for one. */
struct map_spot {
    _Atomic uint32_t *entry; /* of a table */
    _Atomic uint64_t *slot;  /* of a granule without */
};

static inline struct map_spot map_seek(const struct map *map, larder_addr addr)
{
    struct map_granule *granule = map_granule(map, addr);
    struct map_spot spot = {NULL, NULL};
    _Atomic uint32_t *table;

    if (granule == NULL || !addr_is_aligned(addr))
        return spot;
    table = slot_table(slot_load(granule, 0));
    if (table != NULL)
        spot.entry = &table[table_index(addr)];
    else
        spot.slot = &granule->slots[slot_index(addr)];
    return spot;
}

/* The number of the block that begins at addr, 0: none does. */
static inline uint32_t map_spot_get(struct map_spot spot, larder_addr addr)
{
    uint64_t slot;

    if (spot.entry != NULL)
        return atomic_load_explicit(spot.entry, memory_order_acquire);
    if (spot.slot == NULL)
        return 0;
    slot = atomic_load_explicit(spot.slot, memory_order_acquire);
    return slot_is(slot, addr) ? slot_number(slot) : 0;
}

/* Remove the block that is there.  Who removes holds the lock that guards the
 * block: an exchange is not needed. */
static inline void map_spot_clear(struct map_spot spot)
{
    if (spot.entry != NULL)
        atomic_store_explicit(spot.entry, 0, memory_order_release);
    else
        atomic_store_explicit(spot.slot, 0, memory_order_release);
}

/* The block's number, 0 if none begins there; map_take() removes it too. */
static inline uint32_t map_get(const struct map *map, larder_addr addr)
{
    return map_spot_get(map_seek(map, addr), addr);
}

static inline uint32_t map_take(struct map *map, larder_addr addr)
{
    struct map_spot spot = map_seek(map, addr);
    uint32_t number = map_spot_get(spot, addr);

    if (number != 0)
        map_spot_clear(spot);
    return number;
}

#endif
