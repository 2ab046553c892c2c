/* experiment_neighbour.h - another process on the same device. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_NEIGHBOUR_H
#define LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_NEIGHBOUR_H

#include <sys/types.h>

#include "experiment.h"

struct neighbour {
    pid_t pid;
    int fd;
};

/* Start one on the device of `spec`, which allocates tensors of 512 MiB until one
 * fails; *bytes is what it then holds. */
bool neighbour_takes_all(struct exp *e, const char *spec, struct neighbour *out,
                         uint64_t *bytes);
/* It releases everything, and ends. */
bool neighbour_ends(struct neighbour *n);

#endif
