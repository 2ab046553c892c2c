/* torch_stacks.h - the callers that allocate memory, for a history with stacks.
 *
 * The stack is captured before the allocator is called, because Python may run
 * other code meanwhile, and kept in a thread-local variable for the history.
 * Private to the plug-in. */
#pragma once

#include <larder/torch.h>

#include <stdbool.h>

struct torch_stack {
    size_t depth;
    uint64_t frames[LARDER_STACK_DEPTH_MAX];
};

/* Capture this thread's stack into `stack`, which must stay valid until
 * larder__torch_stack_leave(), if a history needs it.  False: it does not, and
 * leave() must not be called. `caller` is the plug-in's return address.
 * enter_free is for calls that free memory. */
bool larder__torch_stack_enter(struct torch_stack *stack, const void *caller);
bool larder__torch_stack_enter_free(struct torch_stack *stack,
                                    const void *caller);
void larder__torch_stack_leave(void);

/* No history needs stacks any more. */
void larder__torch_stacks_clear(void);
