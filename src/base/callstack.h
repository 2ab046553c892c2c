/* callstack.h - who called: return addresses of this thread.  Private to the
 * library. */
#ifndef LARDER_BASE_CALLSTACK_H
#define LARDER_BASE_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

/* By the chain of frame pointers: up to `capacity` return addresses, the
 * innermost first.  Reads only the stack of this thread above the caller, so
 * that code without frame pointers gives wrong or few addresses, and no
 * fault.  0 where the processor's layout of frames is not known. */
size_t larder__callstack_frames(uint64_t *out, size_t capacity);

/* By the unwinder of the C library.  The first call may take memory of the C
 * library's own: larder__callstack_prepare() has that done. */
size_t larder__callstack_unwind(uint64_t *out, size_t capacity);
void larder__callstack_prepare(void);

#endif
