/* take_setting.h - options for the settings of an allocator. */
#ifndef LARDER_CLI_TAKE_SETTING_H
#define LARDER_CLI_TAKE_SETTING_H

#include <larder/larder.h>

#include "option.h"

/* Take the value of --policy, or of --conf, which is checked and stays the
 * caller's.  False: an error was reported. */
bool take_policy(const struct cli_args *a, larder_policy *out);
bool take_conf(const struct cli_args *a, const char **out);

#endif
