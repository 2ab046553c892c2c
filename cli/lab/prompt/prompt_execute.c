/* prompt_execute.c - statements.  A new value is created before the old one of
 * its name is dropped. */
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

typedef struct prompt_node node;

static bool execute(struct prompt *p, const node *n);

/* ---- assigning ----------------------------------------------------------------------- */

static bool assign_attribute(struct prompt *p, const node *target,
                             struct prompt_value v)
{
    struct prompt_value object;
    bool on = false;
    bool ok;

    if (!prompt_evaluate(p, target->first, &object))
        return false;
    if (object.kind != VALUE_TENSOR)
        ok = prompt_fail(p, "'%s' of %s cannot be set", target->text,
                         prompt_value_what(object));
    else if (strcmp(target->text, "requires_grad") == 0)
        ok = prompt_read_bool(p, v, "requires_grad", &on) &&
             prompt_check(p, lab_set_requires_grad(object.tensor, on));
    else if (strcmp(target->text, "grad") == 0 &&
             (v.kind == VALUE_NONE || v.kind == VALUE_TENSOR))
        ok = prompt_check(p, lab_set_grad(object.tensor, v.kind == VALUE_TENSOR
                                                             ? v.tensor
                                                             : NULL));
    else
        ok = prompt_fail(p, "'%s' of a tensor cannot be set to %s",
                         target->text, prompt_value_what(v));
    prompt_value_drop(&object);
    return ok;
}

static bool assign(struct prompt *p, const node *target, struct prompt_value v);

static bool assign_each(struct prompt *p, const node *target,
                        struct prompt_value v)
{
    const node *name = target->first;
    size_t wanted = 0;

    for (const node *n = name; n != NULL; n = n->next)
        wanted++;
    if (!prompt_is_sequence(v))
        return prompt_fail(p, "%s is not %zu values", prompt_value_what(v),
                           wanted);
    if (v.object->count != wanted)
        return prompt_fail(p, "%zu values for %zu names", v.object->count,
                           wanted);
    for (size_t i = 0; i < wanted; i++, name = name->next) {
        if (!assign(p, name, v.object->items[i]))
            return false;
    }
    return true;
}

/* Adds a reference. */
static bool assign(struct prompt *p, const node *target, struct prompt_value v)
{
    struct prompt_value own;

    if (target->kind == NODE_ATTRIBUTE)
        return assign_attribute(p, target, v);
    if (target->kind == NODE_TUPLE)
        return assign_each(p, target, v);
    own = prompt_value_ref(v);
    if (prompt_set_variable(p, target->text, own))
        return true;
    prompt_value_drop(&own);
    return false;
}

static bool execute_assign(struct prompt *p, const node *n)
{
    struct prompt_value v;
    bool ok = prompt_evaluate(p, n->last, &v);

    for (const node *t = n->first; ok && t != n->last; t = t->next)
        ok = assign(p, t, v);
    prompt_value_drop(&v);
    return ok;
}

static bool execute_augment(struct prompt *p, const node *n)
{
    struct prompt_value old, by, made = prompt_none();
    bool ok;

    if (!prompt_evaluate(p, n->first, &old))
        return false;
    ok = prompt_evaluate(p, n->last, &by);
    ok = ok && prompt_operate_in_place(p, n->op, old, by, &made) &&
         assign(p, n->first, made);
    prompt_value_drop(&old);
    prompt_value_drop(&by);
    prompt_value_drop(&made);
    return ok;
}

static bool execute_delete(struct prompt *p, const node *n)
{
    for (const node *t = n->first; t != NULL; t = t->next) {
        if (!prompt_delete_variable(p, t->text))
            return false;
    }
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------- */

bool prompt_execute_block(struct prompt *p, const struct prompt_node *block)
{
    for (const node *n = block->first; n != NULL && p->flow == FLOW_ON;
         n = n->next) {
        if (!execute(p, n))
            return false;
    }
    return true;
}

/* After a loop's body: whether the loop continues. */
static bool loop_goes_on(struct prompt *p)
{
    bool goes_on = p->flow == FLOW_ON || p->flow == FLOW_CONTINUE;

    if (p->flow != FLOW_RETURN)
        p->flow = FLOW_ON;
    return goes_on;
}

static bool condition_holds(struct prompt *p, const node *condition,
                            bool *holds)
{
    struct prompt_value v;
    bool ok;

    if (!prompt_evaluate(p, condition, &v))
        return false;
    ok = prompt_truth(p, v, holds);
    prompt_value_drop(&v);
    return ok;
}

static bool execute_if(struct prompt *p, const node *n)
{
    const node *body = n->first->next, *otherwise = body->next;
    bool holds;

    if (!condition_holds(p, n->first, &holds))
        return false;
    if (holds)
        return prompt_execute_block(p, body);
    if (otherwise == NULL)
        return true;
    return otherwise->kind == NODE_IF ? execute_if(p, otherwise)
                                      : prompt_execute_block(p, otherwise);
}

static bool execute_while(struct prompt *p, const node *n)
{
    bool holds;

    for (;;) {
        if (!condition_holds(p, n->first, &holds))
            return false;
        if (!holds)
            return true;
        if (!prompt_execute_block(p, n->last))
            return false;
        if (!loop_goes_on(p))
            return true;
    }
}

static bool execute_return(struct prompt *p, const node *n)
{
    if (n->first != NULL && !prompt_evaluate(p, n->first, &p->returned))
        return false;
    p->flow = FLOW_RETURN;
    return true;
}

/* The i-th item to loop over: a reference. */
static bool loop_item(struct prompt *p, struct prompt_value over, int64_t i,
                      struct prompt_value *out)
{
    lab_tensor *made = NULL;

    if (over.kind == VALUE_RANGE)
        *out = prompt_int((int64_t)((uint64_t)over.object->start +
                                    (uint64_t)i * (uint64_t)over.object->step));
    else if (over.kind == VALUE_TENSOR)
        return prompt_made(p, lab_select(over.tensor, 0, i, &made), &made, out);
    else
        *out = prompt_value_ref(over.object->items[i]);
    return true;
}

/* A list may grow or shrink during the loop. */
static int64_t loop_count(struct prompt_value over)
{
    if (over.kind == VALUE_RANGE)
        return prompt_range_count(over.object);
    if (over.kind == VALUE_TENSOR)
        return lab_sizes(over.tensor)[0];
    return (int64_t)over.object->count;
}

static bool loop_over(struct prompt *p, const node *n, struct prompt_value over)
{
    for (int64_t i = 0; i < loop_count(over); i++) {
        struct prompt_value item;
        bool ok = loop_item(p, over, i, &item);

        if (!ok)
            return false;
        ok = assign(p, n->first, item);
        prompt_value_drop(&item);
        if (!ok || !prompt_execute_block(p, n->last))
            return false;
        if (!loop_goes_on(p))
            break;
    }
    return true;
}

static bool execute_for(struct prompt *p, const node *n)
{
    struct prompt_value over;
    bool ok;

    if (!prompt_evaluate(p, n->first->next, &over))
        return false;
    if (over.kind == VALUE_RANGE || prompt_is_sequence(over) ||
        (over.kind == VALUE_TENSOR && lab_ndim(over.tensor) > 0))
        ok = loop_over(p, n, over);
    else
        ok =
            prompt_fail(p, "%s cannot be looped over", prompt_value_what(over));
    prompt_value_drop(&over);
    return ok;
}

static bool execute_with(struct prompt *p, const node *n)
{
    struct prompt_value mode;
    bool was, ok;

    if (!prompt_evaluate(p, n->first, &mode))
        return false;
    if (mode.kind != VALUE_MODE) {
        prompt_fail(p, "'with' takes no_grad() or enable_grad(), not %s",
                    prompt_value_what(mode));
        prompt_value_drop(&mode);
        return false;
    }
    was = lab_set_grad_enabled(p->lab, mode.integer != 0);
    ok = prompt_execute_block(p, n->last);
    lab_set_grad_enabled(p->lab, was);
    return ok;
}

/* ---- dispatch ----------------------------------------------------------------------------- */

/* As at Python's own prompt: a value other than None is shown, except within a
 * function, and not kept. */
static bool execute_expression(struct prompt *p, const node *n)
{
    struct prompt_value v;

    if (!prompt_evaluate(p, n->first, &v))
        return false;
    if (v.kind != VALUE_NONE && p->calls == 0) {
        prompt_value_write(v, true, &p->output);
        prompt_end_line(p);
    }
    prompt_value_drop(&v);
    return true;
}

static bool execute_kind(struct prompt *p, const node *n)
{
    switch (n->kind) {
    case NODE_EXPRESSION:
        return execute_expression(p, n);
    case NODE_ASSIGN:
        return execute_assign(p, n);
    case NODE_AUGMENT:
        return execute_augment(p, n);
    case NODE_DELETE:
        return execute_delete(p, n);
    case NODE_FOR:
        return execute_for(p, n);
    case NODE_WITH:
        return execute_with(p, n);
    case NODE_IF:
        return execute_if(p, n);
    case NODE_WHILE:
        return execute_while(p, n);
    case NODE_DEF:
        return prompt_define(p, n);
    case NODE_RETURN:
        return execute_return(p, n);
    case NODE_BREAK:
        p->flow = FLOW_BREAK;
        return true;
    case NODE_CONTINUE:
        p->flow = FLOW_CONTINUE;
        return true;
    case NODE_PASS:
        return true;
    default:
        return prompt_fail(p, "this is no statement");
    }
}

static bool execute(struct prompt *p, const node *n)
{
    bool ok;

    if (p->interrupted != NULL && *p->interrupted)
        ok = prompt_fail(p, "interrupted");
    else
        ok = execute_kind(p, n);
    if (!ok && p->error.at == SIZE_MAX)
        p->error.at = n->at;
    return ok;
}

bool prompt_run(struct prompt *p, const struct prompt_node *statement)
{
    prompt_text_clear(&p->output);
    p->failed = false;
    p->steps = 0;
    p->depth = 0;
    p->flow = FLOW_ON;
    return execute(p, statement);
}
