/* address_map.c - open addressing.  Removal closes the gap at once, so that no
 * tombstones accumulate over millions of events. */
#include "snapshot/address_map.h"

#include <stdlib.h>

struct address_slot {
    uint64_t address;
    uint32_t number; /* ADDRESS_MAP_NONE: free */
};

enum { CAPACITY_FIRST = 1024 };

static size_t home_of(const struct address_map *m, uint64_t address)
{
    /* Addresses are multiples of 512, so their low bits carry no
     * information. */
    return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 20) &
           (m->capacity - 1);
}

/* The slot of an address, or the free slot where it would be stored. */
static size_t find_slot(const struct address_map *m, uint64_t address)
{
    size_t at = home_of(m, address);

    while (m->slots[at].number != ADDRESS_MAP_NONE &&
           m->slots[at].address != address)
        at = (at + 1) & (m->capacity - 1);
    return at;
}

static bool address_map_grow(struct address_map *m)
{
    struct address_map wider = {0};

    wider.capacity = m->capacity > 0 ? m->capacity * 2 : CAPACITY_FIRST;
    wider.slots = malloc(wider.capacity * sizeof(*wider.slots));
    if (wider.slots == NULL)
        return false;
    for (size_t i = 0; i < wider.capacity; i++)
        wider.slots[i].number = ADDRESS_MAP_NONE;
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].number != ADDRESS_MAP_NONE)
            wider.slots[find_slot(&wider, m->slots[i].address)] = m->slots[i];
    }
    wider.used = m->used;
    free(m->slots);
    *m = wider;
    return true;
}

void address_map_free(struct address_map *m)
{
    free(m->slots);
    *m = (struct address_map){0};
}

uint32_t address_map_get(const struct address_map *m, uint64_t address)
{
    return m->capacity > 0 ? m->slots[find_slot(m, address)].number
                           : ADDRESS_MAP_NONE;
}

bool address_map_put(struct address_map *m, uint64_t address, uint32_t number)
{
    size_t at;

    if (m->used * 2 >= m->capacity && !address_map_grow(m))
        return false;
    at = find_slot(m, address);
    if (m->slots[at].number == ADDRESS_MAP_NONE)
        m->used++;
    m->slots[at].address = address;
    m->slots[at].number = number;
    return true;
}

uint32_t address_map_take(struct address_map *m, uint64_t address)
{
    size_t hole;
    uint32_t number;

    if (m->capacity == 0)
        return ADDRESS_MAP_NONE;
    hole = find_slot(m, address);
    number = m->slots[hole].number;
    if (number == ADDRESS_MAP_NONE)
        return ADDRESS_MAP_NONE;
    m->slots[hole].number = ADDRESS_MAP_NONE;
    m->used--;
    for (size_t at = (hole + 1) & (m->capacity - 1);
         m->slots[at].number != ADDRESS_MAP_NONE;
         at = (at + 1) & (m->capacity - 1)) {
        size_t home = home_of(m, m->slots[at].address);

        /* The entry may move into the hole unless its home slot is after it. */
        if (((at - home) & (m->capacity - 1)) >=
            ((at - hole) & (m->capacity - 1))) {
            m->slots[hole] = m->slots[at];
            m->slots[at].number = ADDRESS_MAP_NONE;
            hole = at;
        }
    }
    return number;
}
