/* map.c - finds the live block that begins at an address, in O(1). */
#include "core/block/map.h"

#include <stddef.h>

#include "base/host.h"

static_assert(offsetof(struct map_leaf, granules) == 0,
              "a granule's place says where its leaf begins");

bool larder__map_init(struct map *map)
{
    map->low = larder__host_alloc(1u << MAP_LOW_LOG2, sizeof *map->low);
    return map->low != NULL;
}

/* Whether a word has room for the address.  It has, unless the C library tags
 * its pointers. */
static bool fits(const void *p)
{
    return (uint64_t)(uintptr_t)p >> MAP_SHIFT_AT == 0;
}

static uint64_t make_word(_Atomic uint32_t *entries, unsigned shift,
                          unsigned shard)
{
    larder__assert(fits(entries));
    larder__assert(shift < 1 << MAP_SHIFT_BITS);
    larder__assert(shard <= UINT8_MAX);
    return (uint64_t)(uintptr_t)entries | (uint64_t)shift << MAP_SHIFT_AT |
           (uint64_t)shard << MAP_SHARD_AT;
}

/* The granule's table.  NULL: it has none. */
static _Atomic uint32_t *table_of(struct map_leaf *leaf, unsigned i)
{
    _Atomic uint32_t *entries = map_entry(&leaf->granules[i], 0);

    return entries == leaf->slots[i] ? NULL : entries;
}

static void free_lots(struct map *map)
{
    while (map->lots != NULL) {
        struct map_lot *next = map->lots->next;

        larder__host_free(map->lots);
        map->lots = next;
    }
}

void larder__map_destroy(struct map *map)
{
    struct map_leaf *leaf = atomic_load(&map->leaves);

    while (leaf != NULL) {
        struct map_leaf *next = leaf->next;

        larder__host_free(leaf);
        leaf = next;
    }
    free_lots(map);
    larder__host_free(map->low);
    map->low = NULL;
    atomic_store(&map->leaves, NULL);
}

struct map_leaf *larder__map_high_leaf(const struct map *map, uint64_t number)
{
    struct map_leaf *leaf =
        atomic_load_explicit(&map->leaves, memory_order_acquire);

    while (leaf != NULL && leaf->number != number)
        leaf = leaf->next;
    return leaf;
}

/* The leaf that contains the granule, which is its i-th. */
static struct map_leaf *leaf_of(map_granule *granule, unsigned i)
{
    return (struct map_leaf *)(void *)(granule - i);
}

static bool map_make_leaf(struct map *map, larder_addr addr)
{
    struct map_leaf *leaf = larder__host_alloc(1, sizeof *leaf);

    if (leaf == NULL || !fits(leaf)) {
        larder__host_free(leaf);
        return false;
    }
    leaf->number = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);
    leaf->next = atomic_load(&map->leaves);
    atomic_store_explicit(&map->leaves, leaf, memory_order_release);
    if (leaf->number < UINT64_C(1) << MAP_LOW_LOG2)
        atomic_store_explicit(&map->low[leaf->number], leaf,
                              memory_order_release);
    return true;
}

/* Take a zeroed table.  NULL: no host memory. */
static _Atomic uint32_t *take_table(struct map *map)
{
    struct map_lot *lot = map->lots;

    if (lot == NULL || lot->used == MAP_LOT) {
        lot = larder__host_alloc(1, sizeof *lot);
        if (lot == NULL || !fits(lot + 1)) {
            larder__host_free(lot);
            return NULL;
        }
        lot->next = map->lots;
        map->lots = lot;
    }
    larder__assert(lot->used < MAP_LOT);
    return lot->tables[lot->used++];
}

/* Take a table and move the entries of the granule's slots into it.  NULL: no
 * host memory. */
static _Atomic uint32_t *make_table(struct map *map, struct map_leaf *leaf,
                                    unsigned i, struct slab *slab)
{
    _Atomic uint32_t *table = take_table(map);

    if (table == NULL)
        return NULL;
    for (unsigned k = 0; k < MAP_SLOTS; k++) {
        uint32_t number = atomic_exchange(&leaf->slots[i][k], 0);
        const struct block *b = slab_get(slab, number);

        larder__assert(b == NULL || b->state == BLOCK_LIVE);
        if (b != NULL)
            atomic_store(&table[(b->addr >> MAP_UNIT_LOG2) % MAP_TABLE],
                         number);
    }
    return table;
}

/* Make room for the granule's blocks. */
static bool granule_prepare(struct map *map, struct slab *slab,
                            larder_addr addr, bool fine, uint8_t shard)
{
    unsigned i = map_index(addr);
    struct map_leaf *leaf;
    _Atomic uint32_t *table;
    uint64_t word;

    if (map_granule_of(map, addr) == NULL && !map_make_leaf(map, addr))
        return false;
    leaf = leaf_of(map_granule_of(map, addr), i);
    table = table_of(leaf, i);
    if (fine && table == NULL) {
        table = make_table(map, leaf, i, slab);
        if (table == NULL)
            return false;
    }
    larder__assert(leaf->number == addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2));
    word = table != NULL ? make_word(table, MAP_UNIT_LOG2, shard)
                         : make_word(leaf->slots[i], MAP_SLOT_LOG2, shard);
    atomic_store_explicit(&leaf->granules[i], word, memory_order_release);
    return true;
}

bool larder__map_prepare(struct map *map, struct slab *slab, larder_addr addr,
                         uint64_t bytes, bool fine, uint8_t shard)
{
    larder_addr last = addr + bytes - 1;

    if (last < addr)
        return false;
    for (larder_addr at = addr >> MAP_GRANULE_LOG2;
         at <= last >> MAP_GRANULE_LOG2; at++) {
        if (!granule_prepare(map, slab, at << MAP_GRANULE_LOG2, fine, shard))
            return false;
    }
    return true;
}
