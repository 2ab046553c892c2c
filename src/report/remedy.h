/* remedy.h - changes of a program, and how much lower the peak of the whole run
 * would be with each: the peak is found again without the bytes, wherever it is
 * then, in one pass over the run. */
#pragma once

#include "report/summary_of_run.h"

enum remedy {
    REMEDY_NONE,
    REMEDY_ATTENTION,   /* fused: no allocation of a softmax */
    REMEDY_LOSS,        /* in eight pieces: an eighth of what it allocates */
    REMEDY_ACTIVATIONS, /* half of each */
    REMEDY_TEMPORARIES, /* half of each of the main line's; if no line could be
                           changed, of all */
    REMEDY_OPTIMIZER,   /* a quarter of its state */
    REMEDY_WEIGHTS,     /* half of each */
    REMEDY_LEAK,        /* nothing left behind by an iteration */
    REMEDIES
};

/* As in JSON: "fused attention", "loss in pieces", ... */
const char *remedy_name(enum remedy remedy);

/* Of REMEDY_ATTENTION or REMEDY_LOSS: what an allocation from a stack would be
 * smaller by. */
uint64_t remedy_of_stack(const struct snapshot *s, enum remedy remedy,
                         uint32_t stack, uint64_t bytes);

/* Whether the temporaries come from a line that could be changed, and not from
 * the backward pass. */
bool remedy_has_line(const struct run_summary *r);

struct remedy_worth {
    uint64_t bytes;   /* by which the peak of the run is lower */
    uint64_t at_peak; /* of what would be smaller, in use at the peak */
    uint32_t largest; /* the largest such allocation then; UINT32_MAX: none */
};

struct remedy_worth remedy_measure(struct arena *arena,
                                   const struct run_summary *r,
                                   enum remedy remedy);
