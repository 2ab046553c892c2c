/* cupti_version.c - which CUPTI it is.  They were counted up to CUDA 12, and are
 * named after their CUDA since. */
#include "standin.h"

enum { LAST_COUNTED = 28 };

STANDIN_OWN(int, cuptiGetVersion, (uint32_t * out))
{
    *out = STANDIN_MAJOR < 13 ? LAST_COUNTED
                              : STANDIN_MAJOR * 10000 + STANDIN_MINOR * 100;
    return 0;
}
