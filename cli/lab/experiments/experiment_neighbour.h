/* experiment_neighbour.h - another process on the same device. */
#ifndef LARDER_CLI_LAB_EXPERIMENT_NEIGHBOUR_H
#define LARDER_CLI_LAB_EXPERIMENT_NEIGHBOUR_H

#include <sys/types.h>

#include "experiment.h"

struct neighbour {
    pid_t pid;
    int fd;
};

/* Start one on the device of `spec`.  To be called before this process opens
 * it: what is open at a fork is the parent's. */
bool neighbour_start(struct exp *e, const char *spec, struct neighbour *out);
void neighbour_end(struct neighbour *n);

/* It takes tensors of 512 MiB until it is refused one; *bytes is what it
 * then holds. */
bool neighbour_takes_all(struct exp *e, struct neighbour *n, uint64_t *bytes);
/* It releases everything. */
bool neighbour_gives_back(struct exp *e, struct neighbour *n);

#endif
