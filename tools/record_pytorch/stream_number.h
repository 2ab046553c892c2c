/* stream_number.h - streams of a recording: numbers, as pointers that PyTorch
 * takes for streams of somebody else's.
 *
 * It keeps its own streams apart from others by the lowest bit, and orders free
 * blocks by the pointer, so that numbers have to grow with pointers. */
#pragma once

#include <stdint.h>

enum { STREAM_SHIFT = 8 };

static inline unsigned stream_number(const void *handle)
{
    return (unsigned)((uintptr_t)handle >> STREAM_SHIFT);
}

static inline void *stream_pointer(unsigned number)
{
    return (void *)((uintptr_t)number << STREAM_SHIFT);
}
