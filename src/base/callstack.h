/* callstack.h - return addresses of this thread.  Private to the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Follow the chain of frame pointers: up to `capacity` return addresses,
 * innermost first.  Only this thread's stack above the caller is read, so code
 * without frame pointers yields wrong or few addresses but no fault.  0 if the
 * architecture's frame layout is unknown. */
size_t larder__callstack_frames(uint64_t *out, size_t capacity);

/* The same by the C library's unwinder.  The first call may allocate memory in
 * the C library; larder__callstack_prepare() makes that happen earlier. */
size_t larder__callstack_unwind(uint64_t *out, size_t capacity);
void larder__callstack_prepare(void);
