/* take_setting.c - options for the settings of an allocator. */
#include "take_setting.h"

#include <string.h>

bool take_policy(const struct cli_args *a, void *out)
{
    return larder_policy_parse(a->value, out) == LARDER_OK ||
           cli_refuse(a, "--policy: %s", larder_last_error());
}

bool take_conf(const struct cli_args *a, void *out)
{
    *(const char **)out = a->value;
    return larder_conf_check(a->value) == LARDER_OK ||
           cli_refuse(a, "--conf: %s", larder_last_error());
}

bool take_snapshot_name(const struct cli_args *a, void *out)
{
    const char *dot = strrchr(a->value, '.');

    *(const char **)out = a->value;
    return (dot != NULL &&
            (strcmp(dot, ".pickle") == 0 || strcmp(dot, ".json") == 0)) ||
           cli_refuse(a,
                      "snapshot '%s': expected a name ending in .pickle or "
                      ".json",
                      a->value);
}
