/* map.h - from an address to the live block that begins there, in O(1).
 * Private to core.
 *
 * A radix tree over granules of 2 MiB.  A granule's entry is 16 slots, one for
 * each 128 KiB: enough where blocks are larger than that, as then no two begin
 * in the same.  A granule that is cut finer gets a table, four bytes for every
 * 256 of its bytes.
 *
 * The allocator holds its lock for every call now.  The entries are atomic
 * all the same, and leaves and tables stay until the map goes, so that
 * lookups may do without it: one of a stale address never touches freed
 * memory.
 *
 * Cost in host memory: 256 KiB for 4 GiB of addresses, and 32 KiB for each
 * granule with a table. */
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
    MAP_NODE_LOG2 = 12, /* leaves under a middle node, those under the root */
    MAP_SLOT_LOG2 = 17,
    MAP_SLOTS = 1 << (MAP_GRANULE_LOG2 - MAP_SLOT_LOG2),
    /* Addresses beyond 2^56 are not handed out by any device known. */
    MAP_ADDRESS_LOG2 = MAP_GRANULE_LOG2 + MAP_LEAF_LOG2 + 2 * MAP_NODE_LOG2
};

struct map_granule {
    /* 0: nothing; odd: a block's place and number; else, in the first slot, a
     * table's address. */
    _Atomic uint64_t slots[MAP_SLOTS];
};

struct map_leaf {
    struct map_granule granules[1 << MAP_LEAF_LOG2];
};

struct map_node {
    _Atomic(struct map_leaf *) leaves[1 << MAP_NODE_LOG2];
};

struct map {
    _Atomic(struct map_node *) *nodes; /* 1 << MAP_NODE_LOG2 of them */
};

bool larder__map_init(struct map *map);
void larder__map_destroy(struct map *map);

/* Make room so that blocks in [addr, addr + bytes) can be put in.  `fine`:
 * some may be of 128 KiB or less.  False: no host memory, or addresses beyond
 * what the map covers; what was made stays, and does no harm. */
bool larder__map_prepare(struct map *map, larder_addr addr, uint64_t bytes,
                         bool fine);

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

/* The granule's entry; NULL if no room was made for it. */
static inline struct map_granule *map_granule(const struct map *map,
                                              larder_addr addr)
{
    uint64_t granule = addr >> MAP_GRANULE_LOG2;
    uint64_t leaf = granule >> MAP_LEAF_LOG2;
    struct map_node *node;
    struct map_leaf *found;

    if (addr >> MAP_ADDRESS_LOG2 != 0)
        return NULL;
    node = atomic_load_explicit(&map->nodes[leaf >> MAP_NODE_LOG2],
                                memory_order_acquire);
    if (node == NULL)
        return NULL;
    found = atomic_load_explicit(
        &node->leaves[leaf & ((1 << MAP_NODE_LOG2) - 1)], memory_order_acquire);
    if (found == NULL)
        return NULL;
    return &found->granules[granule & ((1 << MAP_LEAF_LOG2) - 1)];
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

/* The block's number, 0 if none begins there; map_take() removes it too. */
static inline uint32_t map_get(const struct map *map, larder_addr addr)
{
    struct map_granule *granule = map_granule(map, addr);
    _Atomic uint32_t *table;
    uint64_t slot;

    if (granule == NULL || !addr_is_aligned(addr))
        return 0;
    table = slot_table(slot_load(granule, 0));
    if (table != NULL)
        return atomic_load_explicit(&table[table_index(addr)],
                                    memory_order_acquire);
    slot = slot_load(granule, slot_index(addr));
    return slot_is(slot, addr) ? slot_number(slot) : 0;
}

/* The allocator's lock orders those who take: an exchange is not needed. */
static inline uint32_t map_take(struct map *map, larder_addr addr)
{
    struct map_granule *granule = map_granule(map, addr);
    _Atomic uint32_t *table;
    _Atomic uint64_t *place;
    uint64_t slot;

    if (granule == NULL || !addr_is_aligned(addr))
        return 0;
    table = slot_table(slot_load(granule, 0));
    if (table != NULL) {
        _Atomic uint32_t *entry = &table[table_index(addr)];
        uint32_t number = atomic_load_explicit(entry, memory_order_relaxed);

        if (number != 0)
            atomic_store_explicit(entry, 0, memory_order_release);
        return number;
    }
    place = &granule->slots[slot_index(addr)];
    slot = atomic_load_explicit(place, memory_order_relaxed);
    if (!slot_is(slot, addr))
        return 0;
    atomic_store_explicit(place, 0, memory_order_release);
    return slot_number(slot);
}

#endif
