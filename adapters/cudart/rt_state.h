/* rt_state.h - internals of the runtime.
 *
 * Every call begins with rt_begin(), which opens the driver and makes the
 * thread's device current, and ends with rt_end(), which keeps an error for
 * cudaGetLastError(). */
#pragma once

#include <stdbool.h>

#include "rt_calls.h"

/* ---- rt_error.c --------------------------------------------------------- */

int rt_end(int answer);
/* The same for a call that returns an address, which is stored in *out. */
static inline int rt_end_with(int answer, cud_addr addr, void **out)
{
    if (answer == CUD_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return rt_end(answer);
}
/* The result of a call that is not simulated; its name is reported once. */
int rt_refuse(const char *symbol);

/* ---- rt_device.c -------------------------------------------------------- */

/* For calls that need only the driver. */
int rt_begin_bare(void);
/* Afterwards a context is current; if the thread had one it stays. */
int rt_begin(void);
int rt_device(void);

/* ---- calls that only the driver has ------------------------------------- */

/* Most calls end with this: it begins, makes the driver's call, and ends. */
#define RT_PASS(call) RT_PASS_AFTER(rt_begin(), call)
#define RT_PASS_BARE(call) RT_PASS_AFTER(rt_begin_bare(), call)
#define RT_PASS_AFTER(begin, call)                                             \
    int answer = (begin);                                                      \
                                                                               \
    if (answer == CUD_SUCCESS)                                                 \
        answer = (call);                                                       \
    return rt_end(answer)

/* ---- rt_registry.c ------------------------------------------------------ */

/* The driver's kernel behind a host function, loaded at first use.  A handle
 * returned by a library is returned unchanged. */
int rt_kernel_of(const void *function, void **out);
/* The device memory of a variable, allocated at first use, and its size. */
int rt_symbol_of(const void *symbol, cud_addr *out, size_t *bytes);
/* A device was reset: memory that is gone is allocated again at the next use. */
void rt_symbols_forget(void);
