/* hook.c - callbacks that receive a gradient as soon as it is available. */
#include "autograd/node.h"

#include "tensor/host_memory.h"

struct lab_hook {
    struct lab_hook **list; /* the list that contains it; NULL: none */
    struct lab_hook *next;
    unsigned output; /* of the node */
    uint64_t number; /* in order of registration */
    unsigned holds;  /* references: the list's, and running calls' */
    bool has_handle; /* the caller holds a handle */
    lab_hook_fn fn;
    void *context;
    void (*release)(void *context);
};

/* ---- removal ------------------------------------------------------------ */

static void hook_free(struct lab_hook *hook)
{
    if (hook->holds == 0 && !hook->has_handle)
        lab__host_free(hook);
}

/* A handle that remains does not keep the caller's data alive. */
static void hook_let_go(struct lab_hook *hook)
{
    if (--hook->holds > 0)
        return;
    if (hook->release != NULL)
        hook->release(hook->context);
    hook_free(hook);
}

static void hook_unlink(struct lab_hook *hook)
{
    struct lab_hook **at = hook->list;

    if (at == NULL)
        return;
    while (*at != hook)
        at = &(*at)->next;
    *at = hook->next;
    hook->list = NULL;
    hook_let_go(hook);
}

void lab__hooks_end(struct lab_hook **list)
{
    while (*list != NULL)
        hook_unlink(*list);
}

void lab_hook_leave(lab_hook *hook)
{
    if (hook == NULL)
        return;
    hook->has_handle = false;
    hook_free(hook);
}

void lab_hook_remove(lab_hook *hook)
{
    if (hook != NULL)
        hook_unlink(hook);
    lab_hook_leave(hook);
}

/* ---- registering -------------------------------------------------------- */

static void hook_append(struct lab_hook **list, struct lab_hook *hook)
{
    struct lab_hook **at = list;

    while (*at != NULL)
        at = &(*at)->next;
    *at = hook;
    hook->list = list;
}

static larder_result hook_new(const lab_tensor *t, struct lab_hook **out)
{
    if (!lab_requires_grad(t))
        return lab__invalid(
            "a hook is for tensors that require a gradient; this one does not");
    *out = lab__host_zeroed(sizeof **out);
    return *out != NULL ? LARDER_OK : lab__fail_host(sizeof **out);
}

larder_result lab_register_hook(lab_tensor *t, lab_hook_fn fn, void *context,
                                void (*release)(void *context), lab_hook **out)
{
    struct lab__meta *meta = t->meta;
    struct lab_hook *hook;
    larder_result r = hook_new(t, &hook);

    if (r != LARDER_OK) {
        if (release != NULL)
            release(context);
        return r;
    }
    *hook = (struct lab_hook){.output = meta->output,
                              .number = t->storage->session->next_hook++,
                              .holds = 1,
                              .has_handle = out != NULL,
                              .fn = fn,
                              .context = context,
                              .release = release};
    hook_append(
        meta->grad_fn != NULL ? &meta->grad_fn->own_hooks : &meta->hooks, hook);
    if (out != NULL)
        *out = hook;
    return LARDER_OK;
}

larder_result lab_move_hooks(lab_tensor *from, lab_tensor *to)
{
    struct lab__meta *meta;

    if (from->meta == NULL || from->meta->hooks == NULL)
        return LARDER_OK;
    LAB__TRY(lab__meta_of(to, &meta));
    while (from->meta->hooks != NULL) {
        struct lab_hook *hook = from->meta->hooks;

        from->meta->hooks = hook->next;
        hook->next = NULL;
        hook_append(&meta->hooks, hook);
    }
    return LARDER_OK;
}

/* ---- running ------------------------------------------------------------ */

static larder_result replacement_check(const lab_tensor *grad,
                                       const lab_tensor *made)
{
    char want[LAB__SHAPE_TEXT], got[LAB__SHAPE_TEXT];

    if (made->dtype != grad->dtype ||
        made->storage->place != grad->storage->place) {
        return lab__invalid("a hook returned a gradient of type %s on %s from "
                            "one of type %s on %s",
                            lab__dtype_name(made->dtype),
                            lab__place_name(made->storage->place),
                            lab__dtype_name(grad->dtype),
                            lab__place_name(grad->storage->place));
    }
    if (lab__same_sizes(grad, made))
        return LARDER_OK;
    return lab__invalid("a hook returned a gradient of sizes %s from one of %s",
                        lab__shape_text(made->ndim, made->sizes, got),
                        lab__shape_text(grad->ndim, grad->sizes, want));
}

static larder_result hook_run(struct lab_hook *hook, lab_tensor **grad)
{
    LAB__OWNED lab_tensor *made = NULL;
    larder_result r;

    hook->holds++; /* the hook may remove itself */
    r = hook->fn(hook->context, *grad, &made);
    hook_let_go(hook);
    if (r != LARDER_OK || made == NULL)
        return r;
    LAB__TRY(replacement_check(*grad, made));
    lab_unref(*grad);
    return lab__give(&made, grad);
}

/* In order of number, because a hook may remove others. */
larder_result lab__hooks_run(struct lab_hook *const *list, unsigned output,
                             lab_tensor **grad)
{
    uint64_t number = 0;

    for (;;) {
        struct lab_hook *hook = *list;

        while (hook != NULL &&
               (hook->number < number || hook->output != output))
            hook = hook->next;
        if (hook == NULL)
            return LARDER_OK;
        number = hook->number + 1;
        LAB__TRY(hook_run(hook, grad));
    }
}
