/* model_pair.h - the library and the naive model side by side. */
#pragma once

#include <larder/sim.h>

#include "model/model_ops.h"
#include "model/reference.h"

enum { MODEL_WHY_MAX = 512 };

struct model_pair {
    larder_device *device;
    larder_allocator *allocator;
    larder_addr base; /* of the library's first region */
    struct reference *reference;
    /* Addresses in the model: 0 for an empty slot, and the one before. */
    larder_addr live[MODEL_SLOTS];
    larder_addr before[MODEL_SLOTS];
    unsigned filters[MODEL_POOLS]; /* sets of streams, as bits */
    larder_stats stats;            /* last statistics that both agreed on */
    char why[MODEL_WHY_MAX];       /* the first difference */
};

/* False, with why: the library could not be opened. */
bool model_pair_open(struct model_pair *m, uint64_t capacity, uint64_t conf);

/* Do the operation on both and compare the result, the address and all
 * statistics.  False: they differ. */
bool model_pair_step(struct model_pair *m, const struct model_op *op);

/* Compare segments, blocks and bytes of the device in use. */
bool model_pair_compare_blocks(struct model_pair *m);

/* larder_check(). */
bool model_pair_check(struct model_pair *m);

/* Free all, release all, and check that the device got everything back.  Closes
 * both in any case. */
bool model_pair_close(struct model_pair *m);
