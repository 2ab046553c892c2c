/* take_capacity.h - options that name the memory of a card. */
#ifndef LARDER_CLI_TAKE_CAPACITY_H
#define LARDER_CLI_TAKE_CAPACITY_H

#include "option.h"

/* A capacity, into a uint64_t.  A number smaller than a driver page and without
 * a unit is refused: a unit was probably forgotten. */
cli_take_fn take_capacity;

/* A text that is or contains such a size, as "24,vmm=off" or "sim:24", into a
 * const char *. */
cli_take_fn take_device;

#endif
