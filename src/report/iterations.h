/* iterations.h - where the iterations of a run begin.
 *
 * Marks tell if the program set them.  Otherwise the run is searched for
 * repetition: allocations of equal size and call path that recur at nearly
 * equal distances over most of the run, several kinds of them equally often.
 * What so repeats within one pass are its layers. */
#pragma once

#include "snapshot/lifetimes.h"
#include "trace/arena.h"

struct iterations {
    uint32_t *begin; /* events, ascending */
    size_t count;    /* 0: none found */
    bool marked;     /* by the program's own annotations */
    size_t layers;   /* of a single pass, in place of iterations; 0: none */
    uint32_t events_each; /* of an iteration or layer, on average */
};

void iterations_find(struct arena *arena, const struct lifetimes *l,
                     struct iterations *out);
