/* open.c - which kind of device a spec asks for. */
#include <string.h>

#include "base/fail.h"
#include "device/sim_open.h"

larder_result larder_device_open(const char *spec, int ordinal,
                                 larder_device **out)
{
    if (spec == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (strncmp(spec, "sim:", 4) != 0)
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s' is none of those known: expected "
                            "sim:SIZE[,SETTING=VALUE...]",
                            spec);
    return larder__sim_open(spec, ordinal, out);
}
