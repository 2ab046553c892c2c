/* snap_memory.h - host memory for reading a snapshot, limited by a budget: a
 * hostile file must not cost more than 4 bytes for each of its own, plus 64
 * MiB. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SNAP_INPUT_FACTOR = 4, SNAP_FREE_MIB = 60 };

struct snap_memory {
    uint64_t used;
    uint64_t peak;
    uint64_t input_bytes; /* decompressed so far: determines the budget */
    bool over_budget;     /* the last call failed because of the budget */
};

/* Make room for `needed` items of `item` bytes in an array with *capacity
 * items; `array` is the address of the pointer to it.  Amortized growth; new
 * items are not cleared.  False: no memory, nothing changed. */
bool snap_reserve(struct snap_memory *m, void *array, size_t *capacity,
                  size_t needed, size_t item);

/* Zeroed memory; NULL: none. */
void *snap_alloc(struct snap_memory *m, size_t count, size_t item);

/* `bytes` is the allocated size.  Accepts NULL.  When reading has ended, free()
 * is enough. */
void snap_release(struct snap_memory *m, void *p, size_t bytes);
