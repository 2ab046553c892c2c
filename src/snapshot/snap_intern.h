/* snap_intern.h - strings, frames, stacks, streams and pools, each stored once.
 * Each call returns the number of an equal item, or adds it; SNAP_NONE: no
 * memory. */
#ifndef LARDER_SNAPSHOT_SNAP_INTERN_H
#define LARDER_SNAPSHOT_SNAP_INTERN_H

#include "snapshot/snap_memory.h"
#include "snapshot/snap_table.h"
#include "snapshot/snapshot.h"

struct snap_intern {
    struct snapshot *s; /* stores the items */
    struct snap_memory *memory;
    struct snap_table strings;
    struct snap_table frames;
    struct snap_table stacks;
    struct snap_table streams;
    struct snap_table pools;
    struct snap_table unknown_keys;
    size_t string_capacity; /* of string_begins */
    size_t string_byte_capacity;
    size_t frame_capacity;
    size_t stack_capacity; /* of stack_begins */
    size_t stack_frame_capacity;
    size_t stream_capacity;
    size_t pool_capacity;
    size_t unknown_key_capacity;
    uint32_t last_stream; /* usually the same as before */
    uint32_t last_pool;
};

/* Adds the words of snapshot_words.h and the zeroth item of each kind.  False: no
 * memory; call snap_intern_free() in any case. */
bool snap_intern_init(struct snap_intern *t, struct snapshot *s,
                      struct snap_memory *memory);

/* Free the tables; the items in the snapshot stay, and their arrays are
 * trimmed. */
void snap_intern_free(struct snap_intern *t);

uint32_t snap_intern_string(struct snap_intern *t, const char *bytes,
                            size_t length);
uint32_t snap_intern_frame(struct snap_intern *t,
                           const struct snapshot_frame *frame);
uint32_t snap_intern_stack(struct snap_intern *t, const uint32_t *frames,
                           size_t count);
uint32_t snap_intern_stream(struct snap_intern *t, uint64_t stream);
uint32_t snap_intern_pool(struct snap_intern *t, struct snapshot_pool pool);

/* Count an unknown key.  False: no memory. */
bool snap_intern_unknown(struct snap_intern *t, uint32_t key);

#endif
