/* iterations.h - where the iterations of a run begin.
 *
 * Marks say so where a program set them.  Else the run is searched for what
 * repeats: allocations, told by size and call path, that come back at nearly
 * equal distances over most of the run, several of them equally often. */
#ifndef LARDER_REPORT_ITERATIONS_H
#define LARDER_REPORT_ITERATIONS_H

#include "snapshot/lifetimes.h"

struct iterations {
    uint32_t *begin; /* events, ascending */
    size_t count;    /* 0: none were found */
    bool marked;     /* by annotations of the program's own */
};

/* False: no host memory.  iterations_free() what it filled in. */
bool iterations_find(const struct lifetimes *l, struct iterations *out,
                     struct tool_error *error);
void iterations_free(struct iterations *it);

#endif
