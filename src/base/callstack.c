/* callstack.c - return addresses of this thread. */
#include "base/callstack.h"

#include <execinfo.h>
#include <pthread.h>

enum { UNWIND_MAX = 192 };

/* ---- frame pointers ------------------------------------------------------- */

/* End of this thread's stack; 0: not yet determined; 1: the system does not
 * say. */
static _Thread_local uintptr_t stack_end;

static uintptr_t find_stack_end(void)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    uintptr_t end = 1;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return end;
    if (pthread_attr_getstack(&attr, &low, &bytes) == 0)
        end = (uintptr_t)low + bytes;
    pthread_attr_destroy(&attr);
    return end;
}

#if defined(__x86_64__) || defined(__aarch64__)
enum { HAS_FRAME_CHAIN = 1 };
#else
enum { HAS_FRAME_CHAIN = 0 };
#endif

/* A frame is two words: the caller's frame and the return address.  Each is
 * above the previous one and within the stack, or the chain has ended.
 * Sanitizers are off because these words belong to no variable. */
__attribute__((noinline, no_sanitize("address", "thread"))) size_t
larder__callstack_frames(uint64_t *out, size_t capacity)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t low = (uintptr_t)frame;
    size_t n = 0;

    if (!HAS_FRAME_CHAIN)
        return 0;
    if (stack_end == 0)
        stack_end = find_stack_end();
    while (n < capacity) {
        uintptr_t at = (uintptr_t)frame;

        if (at < low || at % sizeof(uintptr_t) != 0 || at >= stack_end ||
            stack_end - at < 2 * sizeof(uintptr_t) || frame[1] == 0)
            break;
        out[n++] = frame[1];
        low = at + 2 * sizeof(uintptr_t);
        frame = (const uintptr_t *)frame[0];
    }
    return n;
}

/* ---- the unwinder --------------------------------------------------------- */

size_t larder__callstack_unwind(uint64_t *out, size_t capacity)
{
    void *found[UNWIND_MAX];
    int wanted = capacity < UNWIND_MAX ? (int)capacity : UNWIND_MAX;
    int n = backtrace(found, wanted);

    for (int i = 0; i < n; i++)
        out[i] = (uintptr_t)found[i];
    return n > 0 ? (size_t)n : 0;
}

void larder__callstack_prepare(void)
{
    uint64_t ignored[2];

    (void)larder__callstack_unwind(ignored, 2);
}
