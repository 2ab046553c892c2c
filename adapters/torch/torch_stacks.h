/* torch_stacks.h - who asked for memory, for a history with stacks.
 *
 * Callers are found before the allocator is called, for Python may run other
 * code meanwhile, and left in a variable of the thread, from which the history
 * takes them.  Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_STACKS_H
#define LARDER_ADAPTERS_TORCH_STACKS_H

#include <larder/torch.h>

#include <stdbool.h>

struct torch_stack {
    size_t depth;
    uint64_t frames[LARDER_STACK_DEPTH_MAX];
};

/* Find the callers of this thread into `stack`, which stays until _leave(),
 * if a history wants them; else false, and there is nothing to leave.  `caller` is where the plug-in
 * returns to.  enter_free: of a call that releases memory. */
bool larder__torch_stack_enter(struct torch_stack *stack, const void *caller);
bool larder__torch_stack_enter_free(struct torch_stack *stack,
                                    const void *caller);
void larder__torch_stack_leave(void);

/* No history wants any. */
void larder__torch_stacks_clear(void);

#endif
