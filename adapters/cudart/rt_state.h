/* rt_state.h - the runtime from within.
 *
 * Every call is made between rt_begin(), which opens the driver and makes the
 * thread's device current, and rt_end(), which keeps an error for
 * cudaGetLastError(). */
#ifndef LARDER_ADAPTERS_CUDART_RT_STATE_H
#define LARDER_ADAPTERS_CUDART_RT_STATE_H

#include <stdbool.h>

#include "rt_calls.h"

/* ---- rt_error.c --------------------------------------------------------- */

int rt_end(int answer);
/* The same of a call that gave an address, which goes to *out. */
static inline int rt_end_with(int answer, cud_addr addr, void **out)
{
    if (answer == CUD_SUCCESS)
        *out = (void *)(uintptr_t)addr;
    return rt_end(answer);
}
/* The answer of a call that is not simulated, which is named once. */
int rt_refuse(const char *symbol);

/* ---- rt_device.c -------------------------------------------------------- */

/* For what needs the driver alone. */
int rt_begin_bare(void);
/* A context is current after it: whoever's, if the thread had one. */
int rt_begin(void);
int rt_device(void);

/* ---- a call that is the driver's alone ---------------------------------- */

/* Nearly all calls are: a function's last statement, which begins and ends the
 * one of the driver. */
#define RT_PASS(call) RT_PASS_AFTER(rt_begin(), call)
#define RT_PASS_BARE(call) RT_PASS_AFTER(rt_begin_bare(), call)
#define RT_PASS_AFTER(begin, call)                                             \
    int answer = (begin);                                                      \
                                                                               \
    if (answer == CUD_SUCCESS)                                                 \
        answer = (call);                                                       \
    return rt_end(answer)

/* ---- rt_registry.c ------------------------------------------------------ */

/* The driver's kernel behind a function of the host, loaded at first use; a
 * handle that a library gave is returned as it is. */
int rt_kernel_of(const void *function, void **out);
/* The memory behind a variable, taken at first use, and its size. */
int rt_symbol_of(const void *symbol, cud_addr *out, size_t *bytes);

#endif
