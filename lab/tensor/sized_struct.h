/* sized_struct.h - structs that begin with their own size and grow at the
 * end, so that old and new callers both work. */
#pragma once

#include <string.h>

#include "tensor/tensor.h"

/* No struct is near this size: a larger value means that it was not set. */
enum { LAB__SIZED_MAX = 65536 };

static inline void lab__sized_init(void *sized, size_t size)
{
    memset(sized, 0, size);
    memcpy(sized, &size, sizeof size);
}

static inline larder_result lab__sized_check(const void *sized, size_t *size)
{
    memcpy(size, sized, sizeof *size);
    if (*size >= sizeof *size && *size <= LAB__SIZED_MAX)
        return LARDER_OK;
    return lab__invalid("a struct's size is %zu: set it before the call",
                        *size);
}

/* Copy a caller's struct over `full`, which holds the defaults. */
static inline larder_result lab__sized_read(void *full, size_t bytes,
                                            const void *in)
{
    const char *from = in;
    size_t have;

    LAB__TRY(lab__sized_check(in, &have));
    for (size_t i = bytes; i < have; i++) {
        if (from[i] != 0)
            return lab__invalid("a struct uses members that this version of "
                                "the library does not know");
    }
    memcpy((char *)full + sizeof have, from + sizeof have,
           (have < bytes ? have : bytes) - sizeof have);
    return LARDER_OK;
}

/* Fill a caller's struct from `full`: as much as fits, with zeros in fields
 * newer than this version. */
static inline larder_result lab__sized_write(void *out, const void *full,
                                             size_t bytes)
{
    size_t room, known;

    LAB__TRY(lab__sized_check(out, &room));
    known = room < bytes ? room : bytes;
    memset((char *)out + sizeof room, 0, room - sizeof room);
    memcpy((char *)out + sizeof room, (const char *)full + sizeof room,
           known - sizeof room);
    return LARDER_OK;
}
