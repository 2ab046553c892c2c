/* take_setting.h - options for the settings of an allocator. */
#ifndef LARDER_CLI_TAKE_SETTING_H
#define LARDER_CLI_TAKE_SETTING_H

#include <larder/larder.h>

#include "option.h"

/* The value of --policy into a larder_policy; that of --conf, which is checked,
 * into a const char *. */
cli_take_fn take_policy;
cli_take_fn take_conf;

/* The name of a file for a snapshot, which determines its format, into a
 * const char *. */
cli_take_fn take_snapshot_name;

#endif
