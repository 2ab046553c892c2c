#include "prompt_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab_history.h"

/* ---- opening and closing ------------------------------------------------------ */

/* With a history, for snapshots; a session without one is still useful. */
static bool open_session(const lab_options *options, lab **out)
{
    if (lab_open(options, out) != LARDER_OK)
        return false;
    (void)lab_history_begin(*out);
    return true;
}

bool prompt_open(struct prompt *p, const lab_options *options)
{
    memset(p, 0, sizeof *p);
    p->options = *options;
    return open_session(&p->options, &p->lab);
}

void prompt_forget_variables(struct prompt *p, size_t from)
{
    /* Newest first: their gradients refer to the older ones. */
    while (p->variable_count > from) {
        struct prompt_variable *v = &p->variables[--p->variable_count];

        prompt_value_drop(&v->value);
        free(v->name);
    }
}

void prompt_close(struct prompt *p)
{
    prompt_forget_variables(p, 0);
    free(p->variables);
    prompt_text_free(&p->output);
    lab_close(p->lab);
    memset(p, 0, sizeof *p);
}

bool prompt_reopen(struct prompt *p, const char *device)
{
    lab_options options = p->options;
    lab *fresh;

    if (device != NULL)
        options.device = device;
    if (!open_session(&options, &fresh))
        return false;
    prompt_forget_variables(p, 0);
    lab_close(p->lab);
    p->lab = fresh;
    p->options = options;
    return true;
}

/* ---- variables ------------------------------------------------------------------ */

static struct prompt_variable *find_between(struct prompt *p, const char *name,
                                            size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        if (strcmp(p->variables[i].name, name) == 0)
            return &p->variables[i];
    }
    return NULL;
}

/* Only variables that a statement here can set: within a function, its own. */
static struct prompt_variable *find_variable(struct prompt *p, const char *name)
{
    return find_between(p, name, p->scope, p->variable_count);
}

struct prompt_value *prompt_variable(struct prompt *p, const char *name)
{
    struct prompt_variable *v = find_variable(p, name);

    if (v == NULL)
        v = find_between(p, name, 0, p->globals);
    return v != NULL ? &v->value : NULL;
}

static bool add_variable(struct prompt *p, const char *name,
                         struct prompt_value value)
{
    struct prompt_variable *v;
    char *copy;

    if (p->variable_count == p->variable_capacity) {
        size_t capacity =
            p->variable_capacity > 0 ? 2 * p->variable_capacity : 16;
        struct prompt_variable *grown =
            realloc(p->variables, capacity * sizeof *grown);

        if (grown == NULL)
            return prompt_fail_memory(p);
        p->variables = grown;
        p->variable_capacity = capacity;
    }
    copy = strdup(name);
    if (copy == NULL)
        return prompt_fail_memory(p);
    v = &p->variables[p->variable_count++];
    v->name = copy;
    v->value = value;
    return true;
}

bool prompt_set_variable(struct prompt *p, const char *name,
                         struct prompt_value value)
{
    struct prompt_variable *v = find_variable(p, name);
    struct prompt_value old;

    if (v == NULL)
        return add_variable(p, name, value);
    old = v->value;
    v->value = value;
    prompt_value_drop(&old);
    return true;
}

bool prompt_delete_variable(struct prompt *p, const char *name)
{
    struct prompt_variable *v = find_variable(p, name);
    struct prompt_variable gone;

    if (v == NULL)
        return prompt_fail(p, "there is no '%s' to delete", name);
    gone = *v;
    p->variable_count--;
    memmove(v, v + 1,
            (size_t)(p->variables + p->variable_count - v) * sizeof *v);
    free(gone.name);
    prompt_value_drop(&gone.value);
    return true;
}

/* ---- failing -------------------------------------------------------------------- */

void prompt_end_line(struct prompt *p)
{
    prompt_text_put(&p->output, "\n");
    if (p->live == NULL)
        return;
    fputs(prompt_text_of(&p->output), p->live);
    fflush(p->live);
    prompt_text_clear(&p->output);
}

bool prompt_fail(struct prompt *p, const char *format, ...)
{
    va_list args;

    if (p->failed)
        return false;
    p->failed = true;
    p->error.at = SIZE_MAX; /* the evaluator sets it */
    va_start(args, format);
    vsnprintf(p->error.text, sizeof p->error.text, format, args);
    va_end(args);
    return false;
}

bool prompt_fail_memory(struct prompt *p)
{
    return prompt_fail(p, "out of host memory");
}

bool prompt_check(struct prompt *p, larder_result r)
{
    const char *words = lab_last_error();

    if (r == LARDER_OK)
        return true;
    return prompt_fail(p, "%s", *words != '\0' ? words : larder_result_text(r));
}

bool prompt_made(struct prompt *p, larder_result r, lab_tensor *const *made,
                 struct prompt_value *out)
{
    if (!prompt_check(p, r))
        return false;
    if (p->elements_max > 0 && lab_numel(*made) > p->elements_max) {
        lab_unref(*made);
        return prompt_fail(p, "a tensor of more than %lld elements",
                           (long long)p->elements_max);
    }
    *out = prompt_tensor(*made);
    return true;
}
