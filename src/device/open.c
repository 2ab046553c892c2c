/* open.c - selects the kind of device from its spec. */
#include <string.h>

#include "base/fail.h"
#include "device/open.h"

larder_result larder_device_open(const char *spec, int ordinal,
                                 larder_device **out)
{
    if (spec == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (strncmp(spec, "sim:", 4) == 0)
        return larder__sim_open(spec, ordinal, out);
    if (strncmp(spec, "cuda:", 5) == 0)
        return larder__cuda_open(&larder__cuda_family, spec, ordinal, out);
    if (strncmp(spec, "hip:", 4) == 0)
        return larder__cuda_open(&larder__hip_family, spec, ordinal, out);
    return larder__fail(LARDER_ERR_INVALID,
                        "device '%s' is unknown: expected "
                        "sim:SIZE[,SETTING=VALUE...], cuda:N or hip:N",
                        spec);
}
