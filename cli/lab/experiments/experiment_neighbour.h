/* experiment_neighbour.h - another process on the same device. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_NEIGHBOUR_H
#define LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_NEIGHBOUR_H

#include <sys/types.h>

#include "experiment.h"

struct neighbour {
    pid_t pid;
    int fd;
};

/* Start one on the device of `spec`.  Call it before this process opens the
 * device: devices opened before a fork belong to the parent. */
bool neighbour_start(struct exp *e, const char *spec, struct neighbour *out);
void neighbour_end(struct neighbour *n);

/* It allocates tensors of 512 MiB until one fails; *bytes is what it then
 * holds. */
bool neighbour_takes_all(struct exp *e, struct neighbour *n, uint64_t *bytes);
/* It releases everything. */
bool neighbour_gives_back(struct exp *e, struct neighbour *n);

#endif
