/* address_map.h - a hash table from addresses, or other values, to numbers: for
 * live allocations while a snapshot's events are processed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_MAP_NONE UINT32_MAX

struct address_map {
    struct address_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;
};

/* All zero is an empty map. */
void address_map_free(struct address_map *m);

/* The number at an address; ADDRESS_MAP_NONE when there is none. */
uint32_t address_map_get(const struct address_map *m, uint64_t address);

/* Store a number for an address, replacing any other.  False: no memory. */
bool address_map_put(struct address_map *m, uint64_t address, uint32_t number);

/* Remove an address and return its number, like address_map_get(). */
uint32_t address_map_take(struct address_map *m, uint64_t address);
