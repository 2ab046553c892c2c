/* torch_stacks.c - call stacks for the history: Python's, otherwise native
 * ones. */
#include "torch_stacks.h"

#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "torch_devices.h"
#include "torch_failure.h"
#include "torch_python.h"

/* Room for our own frames, in addition to the caller's. */
enum { OWN_FRAMES = 8 };

static atomic_bool wants_allocs;
static atomic_bool wants_frees;
static atomic_bool wants_native;
static atomic_uint depth_max;

static _Thread_local const struct torch_stack *current;

/* ---- finding ------------------------------------------------------------------- */

/* From the caller outwards; all frames if the caller is not among them. */
static size_t native_frames(const void *caller, uint64_t *frames,
                            size_t capacity)
{
    void *found[LARDER_STACK_DEPTH_MAX + OWN_FRAMES];
    int count = backtrace(found, (int)(capacity + OWN_FRAMES));
    int first = 0;
    size_t n = 0;

    while (first < count && found[first] != caller)
        first++;
    for (int i = first < count ? first : 0; i < count && n < capacity; i++)
        frames[n++] = (uint64_t)(uintptr_t)found[i];
    return n;
}

static bool torch_stacks_find(atomic_bool *wanted, struct torch_stack *stack,
                              const void *caller)
{
    size_t capacity = atomic_load_explicit(&depth_max, memory_order_relaxed);

    if (!atomic_load_explicit(wanted, memory_order_relaxed))
        return false;
    stack->depth = larder__python_frames(stack->frames, capacity);
    if (stack->depth == 0 &&
        atomic_load_explicit(&wants_native, memory_order_relaxed))
        stack->depth = native_frames(caller, stack->frames, capacity);
    current = stack;
    return true;
}

bool larder__torch_stack_enter(struct torch_stack *stack, const void *caller)
{
    return torch_stacks_find(&wants_allocs, stack, caller);
}

bool larder__torch_stack_enter_free(struct torch_stack *stack,
                                    const void *caller)
{
    return torch_stacks_find(&wants_frees, stack, caller);
}

void larder__torch_stack_leave(void)
{
    current = NULL;
}

void larder__torch_stacks_clear(void)
{
    atomic_store(&wants_allocs, false);
    atomic_store(&wants_frees, false);
    atomic_store(&wants_native, false);
}

/* ---- callbacks of the history -------------------------------------------------- */

static size_t copy_frames(void *ctx, uint64_t *frames, size_t capacity)
{
    size_t n;

    (void)ctx;
    if (current == NULL)
        return 0;
    n = current->depth < capacity ? current->depth : capacity;
    memcpy(frames, current->frames, n * sizeof *frames);
    return n;
}

static int name(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)ctx;
    return larder__python_frame_name(frame, out);
}

static bool has_stack(uint32_t stackless, larder_action action)
{
    return (stackless & (1u << action)) == 0;
}

static uint32_t depth_of(const larder_history_options *opt)
{
    if (opt->depth == 0)
        return LARDER_STACK_DEPTH_DEFAULT;
    return opt->depth < LARDER_STACK_DEPTH_MAX ? opt->depth
                                               : LARDER_STACK_DEPTH_MAX;
}

static void want(const larder_history_options *opt, int native)
{
    const uint32_t stackless = opt->stackless_actions | opt->skip_actions;

    atomic_store(&depth_max, depth_of(opt));
    atomic_store(&wants_native, native != 0);
    atomic_store(&wants_frees,
                 has_stack(stackless, LARDER_ACTION_free_requested) ||
                     has_stack(stackless, LARDER_ACTION_free_completed));
    atomic_store(&wants_allocs, true);
}

larder_result larder_torch_history_start(int device,
                                         const larder_history_options *opt,
                                         int native)
{
    larder_history_options with;
    larder_allocator *a;
    larder_result r;

    larder_history_options_init(&with);
    if (opt != NULL)
        with = *opt;
    with.stacks = LARDER_STACKS_CALLBACK;
    with.stack_fn = copy_frames;
    r = larder_torch_allocator(device, &a);
    if (r != LARDER_OK)
        return r;
    r = larder_set_frame_resolver(a, name, NULL);
    if (r == LARDER_OK)
        r = larder_history_start(a, &with);
    if (r == LARDER_OK)
        want(&with, native);
    return larder__torch_noted(r);
}
