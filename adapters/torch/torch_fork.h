/* torch_fork.h - the plug-in in a child that was forked.
 *
 * A worker of a DataLoader has a copy of its parent's tensors, and drops them:
 * calls of a child must do no harm, although the GPU is the parent's and a
 * thread that is not there may hold any lock.  Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_FORK_H
#define LARDER_ADAPTERS_TORCH_FORK_H

#include <stdbool.h>

/* From now on a fork is noticed.  Called under a lock; once made, again is
 * nothing.  False if there is no host memory for it. */
bool larder__torch_fork_watch(void);

/* Whether this process was forked since then: what was made is its parent's.
 * A load. */
bool larder__torch_is_forked(void);

#endif
