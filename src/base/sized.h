/* sized.h - structs that begin with their own size and grow at the end, so that
 * old and new callers both work.  Private. */
#pragma once

#include <string.h>

#include "base/fail.h"

/* No struct is near this size: a larger value means that it was not set. */
enum { SIZED_MAX = 65536 };

static inline larder_result sized_get(const void *sized, size_t *out)
{
    if (sized == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    memcpy(out, sized, sizeof *out);
    if (*out < sizeof *out || *out > SIZED_MAX)
        return larder__fail(LARDER_ERR_INVALID,
                            "a struct's size is %zu: set it before the call",
                            *out);
    return LARDER_OK;
}

/* Clear a caller's struct and note its size; nothing, if it is NULL or has no
 * room for that. */
static inline void sized_init(void *out, size_t size)
{
    if (out == NULL || size < sizeof size)
        return;
    memset(out, 0, size);
    memcpy(out, &size, sizeof size);
}

/* Fill a caller's struct from `full`, of `bytes`: as much as fits, with zeros
 * in fields newer than this version. */
static inline larder_result sized_write(void *out, const void *full,
                                        size_t bytes)
{
    size_t room, known;
    larder_result r = sized_get(out, &room);

    if (r != LARDER_OK)
        return r;
    known = room < bytes ? room : bytes;
    memset(out, 0, room);
    memcpy((char *)out + sizeof room, (const char *)full + sizeof room,
           known - sizeof room);
    memcpy(out, &room, sizeof room);
    return LARDER_OK;
}

/* Copy a caller's struct over `full`, which holds the defaults.  Fields unknown
 * to this version must be zero. */
static inline larder_result sized_read(void *full, size_t bytes, const void *in)
{
    const char *from = in;
    size_t have;
    larder_result r = sized_get(in, &have);

    if (r != LARDER_OK)
        return r;
    for (size_t i = bytes; i < have; i++) {
        if (from[i] != 0)
            return larder__fail(LARDER_ERR_INVALID,
                                "a struct uses members that this version of "
                                "the library does not know");
    }
    memcpy((char *)full + sizeof have, from + sizeof have,
           (have < bytes ? have : bytes) - sizeof have);
    return LARDER_OK;
}
