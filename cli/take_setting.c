/* take_setting.c - options for the settings of an allocator. */
#include "take_setting.h"

bool take_policy(const struct cli_args *a, larder_policy *out)
{
    if (larder_policy_parse(a->value, out) == LARDER_OK)
        return true;
    cli_bad_usage(a->command, "--policy: %s", larder_last_error());
    return false;
}

bool take_conf(const struct cli_args *a, const char **out)
{
    *out = a->value;
    if (larder_conf_check(a->value) == LARDER_OK)
        return true;
    cli_bad_usage(a->command, "--conf: %s", larder_last_error());
    return false;
}
