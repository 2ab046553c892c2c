/* snap_table.h - a hash table of numbers: who keeps the things themselves in
 * an array finds their number by what they hold. */
#ifndef LARDER_SNAPSHOT_SNAP_TABLE_H
#define LARDER_SNAPSHOT_SNAP_TABLE_H

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

/* Is the thing with this number what `wanted` says? */
typedef bool snap_same(const void *owner, uint32_t number, const void *wanted);

/* SNAP_NONE: not there. */
uint32_t snap_table_find(const struct snap_table *t, uint32_t hash,
                         snap_same *same, const void *owner,
                         const void *wanted);

/* False: no memory. */
bool snap_table_add(struct snap_memory *m, struct snap_table *t, uint32_t hash,
                    uint32_t number);

void snap_table_free(struct snap_memory *m, struct snap_table *t);

/* Seeded anew in each process, so that no file can be made to collide. */
uint32_t snap_hash(const void *bytes, size_t count);

#endif
