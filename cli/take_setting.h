/* take_setting.h - options for the settings of an allocator, and for the memory of a
 * card. */
#pragma once

#include <larder/larder.h>

#include "option.h"

/* The value of --policy into a larder_policy; that of --conf, which is checked,
 * into a const char *. */
cli_take_fn take_policy;
cli_take_fn take_conf;

/* The name of a file for a snapshot, which determines its format, into a
 * const char *. */
cli_take_fn take_snapshot_name;

/* A capacity, into a uint64_t.  A number smaller than a driver page and without
 * a unit is refused: a unit was probably forgotten. */
cli_take_fn take_capacity;

/* A text that is or contains such a size, as "24,vmm=off" or "sim:24", into a
 * const char *. */
cli_take_fn take_device;
