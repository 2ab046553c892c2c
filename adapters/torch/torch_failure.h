/* torch_failure.h - stores the last error, and raises errors as C++ exceptions.
 * Private to the plug-in. */
#pragma once

#include <larder/torch.h>

/* If r is a failure, store larder_last_error() for larder_torch_last_error().
 * Returns r. */
larder_result larder__torch_noted(larder_result r);
/* Store a message of our own, formatted as by printf(). */
__attribute__((format(printf, 1, 2))) void larder__torch_remember_words(
    const char *format, ...);

/* Held during a fork; no other lock is taken while holding it. */
void larder__torch_failure_lock(void);
void larder__torch_failure_unlock(void);

/* Forget all errors. */
void larder__torch_forget(void);

/* If `why` is a failure, raise the error last stored on this thread; returns if
 * this process has no C++.  Call it without locks: nothing on the stack is
 * unwound by us. */
void larder__torch_raise(larder_result why);
