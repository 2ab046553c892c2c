/* tune_cell.h - measures one input under one setting. */
#pragma once

#include "tune/tune_input.h"

struct tune_cell {
    bool fits; /* on the requested capacity, if any */
    uint64_t peak_allocated_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t min_capacity_bytes; /* 0: no size is enough */
    uint64_t driver_calls;       /* of the first pass */
    uint64_t driver_time_ns;
};

/* What the result of a cell depends on. */
struct tune_question {
    const struct tune_input *input;
    larder_policy policy;
    const char *conf;
    uint64_t capacity;      /* bytes; 0: none was requested */
    uint64_t context_bytes; /* of it, taken by the driver */
};

/* *ops is the number of operations that were replayed.  False: no host memory,
 * or unusable settings. */
bool tune_cell_measure(const struct tune_question *q, struct tune_cell *out,
                       uint64_t *ops, struct tool_error *error);

/* A folder of measured cells, each stored under a name derived from everything
 * it depends on: the trace's content, the settings, the capacity and this
 * program.  Cells that cannot be written or read are treated as missing. */
bool tune_cell_read(const char *folder, const struct tune_question *q,
                    struct tune_cell *out);
void tune_cell_write(const char *folder, const struct tune_question *q,
                     const struct tune_cell *cell);
