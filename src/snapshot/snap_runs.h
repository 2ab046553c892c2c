/* snap_runs.h - recognises stacks by the bytes that encode them. */
#pragma once

#include "snapshot/snap_table.h"

struct snap_builder;

/* How many past runs are remembered to detect repetition: an iteration has
 * fewer lists. */
enum { SNAP_PAST = 1 << 16 };

/* A sequence of opcodes that only fetches frames from the memo, and the stack
 * that they form.  As long as the memo does not change, the same bytes are the
 * same stack. */
struct snap_run {
    size_t begin; /* in the stored bytes */
    uint32_t length;
    uint32_t frames;
    uint32_t stack;
    uint64_t seen; /* index of its last occurrence in the past */
};

struct snap_runs {
    struct snap_run *at;
    size_t count;
    size_t capacity;
    uint32_t *past; /* numbers of the last SNAP_PAST runs; or NULL */
    uint64_t past_count;
    uint64_t follow; /* position in the past that is being repeated */
    unsigned char *bytes;
    size_t bytes_used;
    size_t bytes_capacity;
    struct snap_table table;
};

/* After a mark: if a list of frames that was seen before follows, consume it as
 * a whole. */
void snap_runs_stack(struct snap_builder *b);
void snap_runs_free(struct snap_builder *b);
