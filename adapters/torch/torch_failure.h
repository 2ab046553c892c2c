/* torch_failure.h - the last failure, kept; and failures as C++ exceptions.
 * Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_FAILURE_H
#define LARDER_ADAPTERS_TORCH_FAILURE_H

#include <larder/torch.h>

/* Keep larder_last_error() for larder_torch_last_error(). */
void larder__torch_remember(void);
/* The same with words of our own, made as printf() does. */
__attribute__((format(printf, 1, 2))) void larder__torch_remember_words(
    const char *format, ...);

/* Held over a fork; what is called under it takes no other. */
void larder__torch_failure_lock(void);
void larder__torch_failure_unlock(void);

/* Forget it all. */
void larder__torch_forget(void);

/* Raise what was last remembered on this thread; returns if this process has
 * no C++.  Called without locks held: nothing above is undone. */
void larder__torch_raise(larder_result why);

#endif
