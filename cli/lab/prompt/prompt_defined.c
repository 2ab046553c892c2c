/* prompt_defined.c - user-defined functions: `def`, and calls. */
#include <string.h>

#include "prompt_session.h"

typedef struct prompt_node node;

/* ---- defining ------------------------------------------------------------------ */

/* Default values are evaluated once, here. */
static bool add_values(struct prompt *p, const node *parameters,
                       struct prompt_object *function)
{
    for (const node *n = parameters->first; n != NULL; n = n->next) {
        struct prompt_value v;

        if (n->kind != NODE_KEYWORD)
            continue;
        if (!prompt_evaluate(p, n->first, &v))
            return false;
        if (!prompt_sequence_add(function, v)) {
            prompt_value_drop(&v);
            return prompt_fail_memory(p);
        }
    }
    return true;
}

bool prompt_define(struct prompt *p, const struct prompt_node *n)
{
    struct prompt_value made;

    if (!prompt_defined(n->last->text, &made))
        return prompt_fail_memory(p);
    if (add_values(p, n->first, made.object) &&
        prompt_set_variable(p, n->text, made))
        return true;
    prompt_value_drop(&made);
    return false;
}

/* ---- calling ------------------------------------------------------------------- */

struct call {
    const node *definition; /* in the function's own tree */
    const struct prompt_object *function;
    const struct prompt_value *given;
    size_t count;
    const char *const *names;
    size_t named;
};

/* The argument for the parameter, borrowed; NULL: there is none. */
static const struct prompt_value *named_argument(const struct call *c,
                                                 const char *name)
{
    for (size_t i = 0; i < c->named; i++) {
        if (strcmp(c->names[i], name) == 0)
            return &c->given[c->count + i];
    }
    return NULL;
}

static bool check_names(struct prompt *p, const struct call *c)
{
    for (size_t i = 0; i < c->named; i++) {
        const node *n = c->definition->first->first;
        size_t at = 0;

        for (; n != NULL && strcmp(n->text, c->names[i]) != 0; n = n->next)
            at++;
        if (n == NULL)
            return prompt_fail(p, "%s() has no parameter '%s'",
                               c->definition->text, c->names[i]);
        if (at < c->count)
            return prompt_fail(p, "%s() got '%s' twice", c->definition->text,
                               c->names[i]);
    }
    return true;
}

static bool bind_one(struct prompt *p, const struct call *c, const node *n,
                     size_t at, size_t *values)
{
    const struct prompt_value *v =
        at < c->count ? &c->given[at] : named_argument(c, n->text);
    struct prompt_value own;

    if (n->kind == NODE_KEYWORD) {
        if (v == NULL)
            v = &c->function->items[*values];
        ++*values;
    }
    if (v == NULL)
        return prompt_fail(p, "%s() lacks '%s'", c->definition->text, n->text);
    own = prompt_value_ref(*v);
    if (prompt_set_variable(p, n->text, own))
        return true;
    prompt_value_drop(&own);
    return false;
}

static bool bind_all(struct prompt *p, const struct call *c)
{
    size_t at = 0, values = 0;

    if (!check_names(p, c))
        return false;
    for (const node *n = c->definition->first->first; n != NULL; n = n->next) {
        if (!bind_one(p, c, n, at++, &values))
            return false;
    }
    return c->count <= at || prompt_fail(p, "%s() takes %zu, not %zu arguments",
                                         c->definition->text, at, c->count);
}

/* A failure inside is reported at the call: the function's text is not the one
 * typed last. */
bool prompt_call_defined(struct prompt *p, struct prompt_value callee,
                         const struct prompt_value *given, size_t count,
                         const char *const *names, size_t named,
                         struct prompt_value *out)
{
    /* The name may be rebound during the call. */
    struct prompt_value held = prompt_value_ref(callee);
    const struct call c = {held.object->tree.statements->first,
                           held.object,
                           given,
                           count,
                           names,
                           named};
    size_t scope = p->scope, globals = p->globals;
    bool ok;

    if (p->calls++ == 0)
        p->globals = p->variable_count;
    p->scope = p->variable_count;
    ok = bind_all(p, &c) && prompt_execute_block(p, c.definition->first->next);
    prompt_forget_variables(p, p->scope);
    p->scope = scope;
    p->globals = globals;
    p->calls--;
    p->flow = FLOW_ON;
    *out = p->returned;
    p->returned = prompt_none();
    if (!ok) {
        prompt_value_drop(out);
        p->error.at = SIZE_MAX;
    }
    prompt_value_drop(&held);
    return ok;
}
