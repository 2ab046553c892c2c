/* snap_pickle.h - the interface between the parts of the pickle machine. */
#ifndef LARDER_SNAPSHOT_SNAP_PICKLE_H
#define LARDER_SNAPSHOT_SNAP_PICKLE_H

#include "snapshot/snap_builder.h"

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

struct snap_pickle {
    struct snap_builder *b;
    uint32_t at; /* of the opcode, for messages */

    struct snap_run *runs;
    size_t run_count;
    size_t run_capacity;
    uint32_t *past; /* numbers of the last SNAP_PAST runs; or NULL */
    uint64_t past_count;
    uint64_t follow; /* position in the past that is being repeated */
    unsigned char *run_bytes;
    size_t run_bytes_used;
    size_t run_bytes_capacity;
    struct snap_table run_table;
};

/* After a mark: if a list of frames that was seen before follows, consume it as
 * a whole (snap_runs.c). */
bool snap_pickle_stack(struct snap_pickle *k);
void snap_pickle_free(struct snap_pickle *k);

/* Opcodes of protocol 0, whose arguments are lines, and those that are rejected
 * (snap_pickle_line.c).  The opcode is already consumed. */
bool snap_pickle_line(struct snap_pickle *k, unsigned char op);

#endif
