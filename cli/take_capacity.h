/* take_capacity.h - options that name the memory of a card. */
#ifndef LARDER_CLI_TAKE_CAPACITY_H
#define LARDER_CLI_TAKE_CAPACITY_H

#include "option.h"

/* A size that memory is measured by, into a uint64_t: what is less than a page of
 * the driver and has no unit was meant to have one. */
cli_take_fn take_capacity;

/* A text that has such a size, or begins with it, as "24,vmm=off" or "sim:24",
 * into a const char *. */
cli_take_fn take_device;

#endif
