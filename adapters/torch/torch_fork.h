/* torch_fork.h - the plug-in in a forked child.
 *
 * A DataLoader's worker has copies of its parent's tensors, and drops them.
 * These calls must do no harm, although the GPU is the parent's and threads
 * that do not exist in the child may hold any lock.  Private to the plug-in. */
#pragma once

#include <stdbool.h>

/* Detect forks from now on.  Called under a lock; further calls do nothing.
 * False: no host memory. */
bool larder__torch_fork_watch(void);

/* Whether this process was forked since then, so that everything created
 * belongs to its parent.  A single load. */
bool larder__torch_is_forked(void);
