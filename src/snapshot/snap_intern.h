/* snap_intern.h - strings, frames, stacks, streams and pools, each stored once.
 * Each call returns the number of an equal item, or adds it. */
#pragma once

#include "snapshot/snap_table.h"
#include "snapshot/snapshot.h"

struct snap_builder;

/* The items of one kind by content; the snapshot stores them. */
struct snap_set {
    struct snap_table table;
    size_t capacity;      /* of the items; of strings and stacks: of begins */
    size_t part_capacity; /* of what strings and stacks consist of */
};

struct snap_intern {
    struct snap_set strings;
    struct snap_set frames;
    struct snap_set stacks;
    struct snap_set streams;
    struct snap_set pools;
    struct snap_set unknown_keys;
    uint32_t last_stream; /* usually the same as before */
    uint32_t last_pool;
};

/* Adds the words of snapshot_words.h and the zeroth item of each kind. */
void snap_intern_init(struct snap_builder *b);

/* Free the tables; the items in the snapshot stay. */
void snap_intern_free(struct snap_builder *b);

uint32_t snap_intern_string(struct snap_builder *b, const char *bytes,
                            size_t length);
uint32_t snap_intern_frame(struct snap_builder *b,
                           const struct snapshot_frame *frame);
uint32_t snap_intern_stack(struct snap_builder *b, const uint32_t *frames,
                           size_t count);
uint32_t snap_intern_stream(struct snap_builder *b, uint64_t stream);

/* Of two integers. */
struct snap_value;
uint32_t snap_intern_pool(struct snap_builder *b, const struct snap_value *id);

/* Count an unknown key. */
void snap_intern_unknown(struct snap_builder *b, uint32_t key);
