/* take_capacity.h - options that name the memory of a card. */
#ifndef LARDER_CLI_TAKE_CAPACITY_H
#define LARDER_CLI_TAKE_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "option.h"

/* Read a size that memory is measured by: what is less than a page of the
 * driver and has no unit was meant to have one.  A message tells what is
 * wrong. */
bool take_capacity(const struct cli_args *a, int row, uint64_t *out);

/* The same check for the size that an option's text has, or begins with, as
 * "24,vmm=off" or "sim:24".  False: a message tells what is wrong. */
bool take_capacity_check(const struct cli_args *a, int row);

#endif
