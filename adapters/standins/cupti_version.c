/* cupti_version.c - the version of CUPTI, which was a counter up to CUDA 12 and
 * follows CUDA's version since then. */
#include "standin.h"

enum { LAST_COUNTED = 28 };

STANDIN_OWN(int, cuptiGetVersion, (uint32_t * out))
{
    *out = STANDIN_MAJOR < 13 ? LAST_COUNTED
                              : STANDIN_MAJOR * 10000 + STANDIN_MINOR * 100;
    return 0;
}
