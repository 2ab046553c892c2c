#include "core/map.h"

#include "base/host.h"

enum {
    SLOT_UNIT_SHIFT = 1, /* bits 1 to 15: the block's place in the granule */
    SLOT_NUMBER_SHIFT = 16
};

static uint64_t slot_direct(larder_addr addr, uint32_t number)
{
    uint64_t unit = (addr >> MAP_UNIT_LOG2) % MAP_TABLE;

    return (uint64_t)number << SLOT_NUMBER_SHIFT | unit << SLOT_UNIT_SHIFT | 1;
}

static uint32_t slot_number(uint64_t slot)
{
    return (uint32_t)(slot >> SLOT_NUMBER_SHIFT);
}

static _Atomic uint32_t *slot_table(uint64_t slot)
{
    return slot == 0 || (slot & 1) ? NULL : (_Atomic uint32_t *)(uintptr_t)slot;
}

static uint64_t slot_load(const struct map_granule *granule, unsigned i)
{
    return atomic_load_explicit(&granule->slots[i], memory_order_acquire);
}

static unsigned table_index(larder_addr addr)
{
    return (unsigned)(addr >> MAP_UNIT_LOG2) % MAP_TABLE;
}

/* The granule's entry; NULL if no room was made for it. */
static struct map_granule *map_granule(const struct map *map, larder_addr addr)
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

void larder__map_put(struct map *map, larder_addr addr, uint32_t number)
{
    struct map_granule *granule = map_granule(map, addr);
    uint64_t first = slot_load(granule, 0);
    _Atomic uint32_t *table = slot_table(first);

    if (table != NULL)
        atomic_store_explicit(&table[table_index(addr)], number,
                              memory_order_release);
    else
        atomic_store_explicit(&granule->slots[first == 0 ? 0 : 1],
                              slot_direct(addr, number), memory_order_release);
}

/* Whether a slot holds the block that begins at addr. */
static bool slot_is(uint64_t slot, larder_addr addr)
{
    return (slot & 1) != 0 && ((slot ^ slot_direct(addr, 0)) &
                               ((1 << SLOT_NUMBER_SHIFT) - 1)) == 0;
}

static bool addr_is_aligned(larder_addr addr)
{
    return (addr & ((1 << MAP_UNIT_LOG2) - 1)) == 0;
}

uint32_t larder__map_get(const struct map *map, larder_addr addr)
{
    struct map_granule *granule = map_granule(map, addr);
    _Atomic uint32_t *table;

    if (granule == NULL || !addr_is_aligned(addr))
        return 0;
    table = slot_table(slot_load(granule, 0));
    if (table != NULL)
        return atomic_load_explicit(&table[table_index(addr)],
                                    memory_order_acquire);
    for (unsigned i = 0; i < MAP_SLOTS; i++) {
        uint64_t slot = slot_load(granule, i);

        if (slot_is(slot, addr))
            return slot_number(slot);
    }
    return 0;
}

uint32_t larder__map_take(struct map *map, larder_addr addr)
{
    struct map_granule *granule = map_granule(map, addr);
    _Atomic uint32_t *table;

    if (granule == NULL || !addr_is_aligned(addr))
        return 0;
    table = slot_table(slot_load(granule, 0));
    if (table != NULL) {
        _Atomic uint32_t *entry = &table[table_index(addr)];

        /* A plain load first: most misuse ends here without a write. */
        return atomic_load_explicit(entry, memory_order_relaxed) == 0
                   ? 0
                   : atomic_exchange_explicit(entry, 0, memory_order_acq_rel);
    }
    for (unsigned i = 0; i < MAP_SLOTS; i++) {
        uint64_t slot = slot_load(granule, i);

        if (slot_is(slot, addr) &&
            atomic_compare_exchange_strong(&granule->slots[i], &slot, 0))
            return slot_number(slot);
    }
    return 0;
}
