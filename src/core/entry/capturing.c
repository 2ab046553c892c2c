/* capturing.c - refuses operations that a capture forbids. */
#include "core/entry/capturing.h"

#include "base/fail.h"

larder_result larder__capturing_forbids(const struct allocator *a,
                                        const char *what)
{
    if (!allocator_is_capturing(a))
        return LARDER_OK;
    return larder__fail(LARDER_ERR_CAPTURING,
                        "%s while a private pool is begun or a stream is being "
                        "captured",
                        what);
}
