/* map.h - from an address to the live block that begins there, in O(1).
 * Private to core.
 *
 * A radix tree over granules of 2 MiB.  A granule's entry is two slots, each
 * for one block that begins in it: enough where blocks are larger than
 * 1 MiB.  A granule that is cut finer gets a table, four bytes for every 512
 * of its bytes.
 *
 * The allocator holds its lock for every call now.  The entries are atomic
 * all the same, and leaves and tables stay until the map goes, so that
 * lookups may do without it: one of a stale address never touches freed
 * memory.
 *
 * Cost in host memory: 32 KiB for 4 GiB of addresses, and 16 KiB for each
 * granule with a table. */
#ifndef LARDER_CORE_MAP_H
#define LARDER_CORE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include <larder/larder.h>

enum {
    MAP_GRANULE_LOG2 = 21,
    MAP_UNIT_LOG2 = 9,
    MAP_TABLE = 1 << (MAP_GRANULE_LOG2 - MAP_UNIT_LOG2),
    MAP_LEAF_LOG2 = 11, /* granules in a leaf */
    MAP_NODE_LOG2 = 12, /* leaves under a middle node, those under the root */
    MAP_SLOTS = 2,
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
 * some may be of 1 MiB or less.  False: no host memory, or addresses beyond
 * what the map covers; what was made stays, and does no harm. */
bool larder__map_prepare(struct map *map, larder_addr addr, uint64_t bytes,
                         bool fine);

/* Put in a block that begins at addr; room was prepared, nothing is there. */
void larder__map_put(struct map *map, larder_addr addr, uint32_t number);

/* The block's number, 0 if none begins there.  `take` removes it too. */
uint32_t larder__map_get(const struct map *map, larder_addr addr);
uint32_t larder__map_take(struct map *map, larder_addr addr);

#endif
