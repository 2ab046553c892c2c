/* take_setting.h - options that say under what something is replayed. */
#ifndef LARDER_CLI_TAKE_SETTING_H
#define LARDER_CLI_TAKE_SETTING_H

#include <larder/larder.h>

#include "option.h"

/* The value of --policy, or of --conf, which is looked at and stays the
 * caller's.  False after saying what is wrong. */
bool take_policy(const struct cli_args *a, larder_policy *out);
bool take_conf(const struct cli_args *a, const char **out);

#endif
