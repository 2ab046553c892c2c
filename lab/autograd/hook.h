/* hook.h - functions of the caller's that see a gradient before it is used.
 *
 * An operation's output has its hooks with the operation's node, a leaf with
 * itself: a leaf's node goes with each graph.
 */
#ifndef LAB_AUTOGRAD_HOOK_H
#define LAB_AUTOGRAD_HOOK_H

#include "autograd/node.h"

/* Those of one output, in the order they came; *grad becomes what the last of
 * them made. */
larder_result lab__hooks_run(struct lab_hook *const *list, unsigned output,
                             lab_tensor **grad);
/* All go; handles that are left do nothing any more. */
void lab__hooks_end(struct lab_hook **list);

#endif
