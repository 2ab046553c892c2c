/* tune_cell.h - one input under one setting. */
#ifndef LARDER_TUNE_TUNE_CELL_H
#define LARDER_TUNE_TUNE_CELL_H

#include "tune/tune_input.h"

struct tune_cell {
    bool fits; /* the capacity asked about, if there is one */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t min_capacity_bytes; /* 0: no size will do */
    uint64_t driver_calls;       /* of the first pass */
    uint64_t driver_time_ns;
};

/* What a cell depends on. */
struct tune_question {
    const struct tune_input *input;
    larder_policy policy;
    const char *conf;
    uint64_t capacity; /* bytes; 0: none was asked about */
};

/* *ops: how many operations were replayed for it.
 * False: no host memory, or the settings cannot be used. */
bool tune_cell_measure(const struct tune_question *q, struct tune_cell *out,
                       uint64_t *ops, struct tool_error *error);

/* Cells once measured, in a folder, each under a name made of all it depends
 * on: the trace's content, the settings, the capacity and this program.  What
 * cannot be written or read is as if it were not there. */
bool tune_cell_read(const char *folder, const struct tune_question *q,
                    struct tune_cell *out);
void tune_cell_write(const char *folder, const struct tune_question *q,
                     const struct tune_cell *cell);

#endif
