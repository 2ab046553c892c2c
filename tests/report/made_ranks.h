/* made_ranks.h - the ranks of made-up programs (made_program.h). */
#pragma once

#include "report/ranks.h"

/* The snapshot of a program, as a report reads it: without stacks, with its notes
 * in their place. */
struct snapshot *made_program_snapshot(uint64_t seed);

/* Add those of a snapshot, of which the file has this number. */
void made_ranks_add(struct report_ranks *ranks, size_t number,
                    const struct snapshot *s);

/* Those of the programs of `count` seeds. */
void made_ranks(uint64_t seed, size_t count, struct report_ranks *out);
