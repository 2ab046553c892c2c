#include "core/map.h"

#include "base/host.h"

bool larder__map_init(struct map *map)
{
    map->nodes = larder__host_alloc(1u << MAP_NODE_LOG2, sizeof *map->nodes);
    return map->nodes != NULL;
}

static void leaf_destroy(struct map_leaf *leaf)
{
    for (unsigned i = 0; i < 1u << MAP_LEAF_LOG2; i++)
        larder__host_free(slot_table(slot_load(&leaf->granules[i], 0)));
    larder__host_free(leaf);
}

void larder__map_destroy(struct map *map)
{
    for (unsigned i = 0; map->nodes != NULL && i < 1u << MAP_NODE_LOG2; i++) {
        struct map_node *node = atomic_load(&map->nodes[i]);

        if (node == NULL)
            continue;
        for (unsigned j = 0; j < 1u << MAP_NODE_LOG2; j++) {
            struct map_leaf *leaf = atomic_load(&node->leaves[j]);

            if (leaf != NULL)
                leaf_destroy(leaf);
        }
        larder__host_free(node);
    }
    larder__host_free(map->nodes);
    map->nodes = NULL;
}

static bool map_make_leaf(struct map *map, larder_addr addr)
{
    uint64_t leaf = addr >> (MAP_GRANULE_LOG2 + MAP_LEAF_LOG2);
    _Atomic(struct map_node *) *node_at = &map->nodes[leaf >> MAP_NODE_LOG2];
    struct map_node *node = atomic_load(node_at);
    struct map_leaf *made;

    if (node == NULL) {
        node = larder__host_alloc(1, sizeof *node);
        if (node == NULL)
            return false;
        atomic_store_explicit(node_at, node, memory_order_release);
    }
    made = larder__host_alloc(1, sizeof *made);
    if (made == NULL)
        return false;
    atomic_store_explicit(&node->leaves[leaf & ((1 << MAP_NODE_LOG2) - 1)],
                          made, memory_order_release);
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

bool larder__map_prepare(struct map *map, larder_addr addr, uint64_t bytes,
                         bool fine)
{
    larder_addr last = addr + bytes - 1;

    if (last < addr || last >> MAP_ADDRESS_LOG2 != 0)
        return false;
    for (larder_addr at = addr >> MAP_GRANULE_LOG2;
         at <= last >> MAP_GRANULE_LOG2; at++) {
        struct map_granule *granule = map_granule(map, at << MAP_GRANULE_LOG2);

        if (granule == NULL) {
            if (!map_make_leaf(map, at << MAP_GRANULE_LOG2))
                return false;
            granule = map_granule(map, at << MAP_GRANULE_LOG2);
        }
        if (fine && !granule_make_table(granule))
            return false;
    }
    return true;
}
