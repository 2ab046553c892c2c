/* snap_table.h - a hash table of numbers: finds an item, kept in an array
 * elsewhere, by its content. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snap_memory.h"

#define SNAP_NONE UINT32_MAX

struct snap_slot {
    uint32_t hash;
    uint32_t number_plus_1; /* 0: empty */
};

struct snap_table {
    struct snap_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Whether the item with this number equals `wanted`. */
typedef bool snap_same(const void *owner, uint32_t number, const void *wanted);

/* SNAP_NONE: not found. */
uint32_t snap_table_find(const struct snap_table *t, uint32_t hash,
                         snap_same *same, const void *owner,
                         const void *wanted);

/* False: no memory. */
bool snap_table_add(struct snap_memory *m, struct snap_table *t, uint32_t hash,
                    uint32_t number);

void snap_table_free(struct snap_memory *m, struct snap_table *t);

/* Seeded differently in each process, so that no file can cause collisions. */
uint32_t snap_hash(const void *bytes, size_t count);
