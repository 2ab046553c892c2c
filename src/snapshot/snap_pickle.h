/* snap_pickle.h - the parts of the pickle machine to each other. */
#ifndef LARDER_SNAPSHOT_SNAP_PICKLE_H
#define LARDER_SNAPSHOT_SNAP_PICKLE_H

#include "snapshot/snap_builder.h"

/* How far back a repetition is noticed: iterations have fewer lists. */
enum { SNAP_PAST = 1 << 16 };

/* A stretch of opcodes that gets nothing but frames, and the stack they are:
 * as long as the memo holds what it held, the same bytes are the same
 * stack. */
struct snap_run {
    size_t begin; /* in the bytes kept */
    uint32_t length;
    uint32_t frames;
    uint32_t stack;
    uint64_t seen; /* when it came last: its place in the past */
};

struct snap_pickle {
    struct snap_builder *b;
    uint32_t at; /* of the opcode, for errors */

    struct snap_run *runs;
    size_t run_count;
    size_t run_capacity;
    uint32_t *past; /* the last SNAP_PAST runs, by number; or NULL */
    uint64_t past_count;
    uint64_t follow; /* the place in the past that is being repeated */
    unsigned char *run_bytes;
    size_t run_bytes_used;
    size_t run_bytes_capacity;
    struct snap_table run_table;
};

/* After a mark: if what follows is a list of frames seen before, take it whole
 * (snap_runs.c). */
bool snap_pickle_stack(struct snap_pickle *k);
void snap_pickle_free(struct snap_pickle *k);

/* Opcodes of protocol 0, whose arguments are lines, and those that are
 * refused (snap_pickle_line.c).  The opcode is taken. */
bool snap_pickle_line(struct snap_pickle *k, unsigned char op);

#endif
