#include "core/map.h"

#include "base/host.h"

bool larder__map_init(struct map *map)
{
    map->low = larder__host_alloc(1u << MAP_LOW_LOG2, sizeof *map->low);
    return map->low != NULL;
}

void larder__map_destroy(struct map *map)
{
    struct map_leaf *leaf = atomic_load(&map->leaves);

    while (leaf != NULL) {
        struct map_leaf *next = leaf->next;

        for (unsigned i = 0; i < 1u << MAP_LEAF_LOG2; i++)
            larder__host_free(slot_table(slot_load(&leaf->granules[i], 0)));
        larder__host_free(leaf);
        leaf = next;
    }
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

static bool map_make_leaf(struct map *map, larder_addr addr)
{
    struct map_leaf *leaf = larder__host_alloc(1, sizeof *leaf);

    if (leaf == NULL)
        return false;
    leaf->number = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);
    leaf->next = atomic_load(&map->leaves);
    atomic_store_explicit(&map->leaves, leaf, memory_order_release);
    if (leaf->number < UINT64_C(1) << MAP_LOW_LOG2)
        atomic_store_explicit(&map->low[leaf->number], leaf,
                              memory_order_release);
    return true;
}

/* Give the granule a table; the blocks move there from their slots.  A lookup
 * without the lock could miss them meanwhile. */
static bool granule_make_table(struct map_granule *granule)
{
    _Atomic uint32_t *table;

    if (slot_table(slot_load(granule, 0)) != NULL)
        return true;
    table = larder__host_alloc(MAP_TABLE, sizeof *table);
    if (table == NULL)
        return false;
    for (unsigned i = 0; i < MAP_SLOTS; i++) {
        uint64_t slot = atomic_exchange(&granule->slots[i], 0);

        if (slot != 0)
            atomic_store(&table[slot >> SLOT_UNIT_SHIFT & (MAP_TABLE - 1)],
                         slot_number(slot));
    }
    atomic_store_explicit(&granule->slots[0], (uint64_t)(uintptr_t)table,
                          memory_order_release);
    return true;
}

/* Room for the granule's blocks. */
static bool granule_prepare(struct map *map, larder_addr addr, bool fine,
                            uint8_t front)
{
    struct map_leaf *leaf = map_leaf_of(map, addr);
    unsigned i = map_granule_index(addr);

    if (leaf == NULL) {
        if (!map_make_leaf(map, addr))
            return false;
        leaf = map_leaf_of(map, addr);
    }
    if (fine && !granule_make_table(&leaf->granules[i]))
        return false;
    atomic_store_explicit(&leaf->fronts[i], front, memory_order_relaxed);
    return true;
}

bool larder__map_prepare(struct map *map, larder_addr addr, uint64_t bytes,
                         bool fine, uint8_t front)
{
    larder_addr last = addr + bytes - 1;

    if (last < addr)
        return false;
    for (larder_addr at = addr >> MAP_GRANULE_LOG2;
         at <= last >> MAP_GRANULE_LOG2; at++) {
        if (!granule_prepare(map, at << MAP_GRANULE_LOG2, fine, front))
            return false;
    }
    return true;
}
