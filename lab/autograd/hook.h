/* hook.h - callbacks that see a gradient before it is used.
 *
 * Hooks of an operation's output belong to the operation's node; hooks of a
 * leaf belong to the leaf itself, because a leaf's node is freed with each
 * graph. */
#ifndef LARDER_LAB_AUTOGRAD_HOOK_H
#define LARDER_LAB_AUTOGRAD_HOOK_H

#include "autograd/node.h"

/* Run the hooks of one output in order of registration; *grad becomes the last
 * one's result. */
larder_result lab__hooks_run(struct lab_hook *const *list, unsigned output,
                             lab_tensor **grad);
/* Remove all hooks; remaining handles have no effect. */
void lab__hooks_end(struct lab_hook **list);

#endif
