/* snap_intern.h - what is kept once: strings, frames, stacks, streams, pools.
 * Each call gives the number of an equal one, or adds it; SNAP_NONE when there
 * is no memory. */
#ifndef LARDER_SNAPSHOT_SNAP_INTERN_H
#define LARDER_SNAPSHOT_SNAP_INTERN_H

#include "snapshot/snap_memory.h"
#include "snapshot/snap_table.h"
#include "snapshot/snapshot.h"

struct snap_intern {
    struct snapshot *s; /* where the things are */
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
    uint32_t last_stream; /* most are as the one before */
    uint32_t last_pool;
};

/* Adds the words of snap_words.h and the zeroth of everything.  False: no
 * memory; snap_intern_free() is due all the same. */
bool snap_intern_init(struct snap_intern *t, struct snapshot *s,
                      struct snap_memory *memory);

/* The tables go, what was put into the snapshot stays and is trimmed. */
void snap_intern_free(struct snap_intern *t);

uint32_t snap_intern_string(struct snap_intern *t, const char *bytes,
                            size_t length);
uint32_t snap_intern_frame(struct snap_intern *t,
                           const struct snapshot_frame *frame);
uint32_t snap_intern_stack(struct snap_intern *t, const uint32_t *frames,
                           size_t count);
uint32_t snap_intern_stream(struct snap_intern *t, uint64_t stream);
uint32_t snap_intern_pool(struct snap_intern *t, struct snapshot_pool pool);

/* Count a key nobody knows.  False: no memory. */
bool snap_intern_unknown(struct snap_intern *t, uint32_t key);

#endif
