/* prompt_evaluate.c - expressions.  As in Python, a value is dropped as soon as
 * the operation that used it has ended. */
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "prompt_module.h"
#include "prompt_session.h"

/* Total depth of nested values, functions and calls: a bound for the stack. */
enum { ARGUMENTS_MAX = 256, NEAR_NAMES = 1024, DEPTH_MAX = 400 };

typedef struct prompt_node node;

/* ---- names ---------------------------------------------------------------------- */

static bool fail_unknown(struct prompt *p, const char *name)
{
    const char *names[NEAR_NAMES];
    const char *near;
    const char *constant;
    size_t count = 0;

    for (size_t i = 0; i < p->variable_count && count < NEAR_NAMES / 2; i++)
        names[count++] = p->variables[i].name;
    for (size_t i = 0; (constant = prompt_nth_constant(OWNER_TORCH, i)) != NULL;
         i++)
        names[count++] = constant;
    for (size_t i = 0; prompt_nth(i) != NULL && count < NEAR_NAMES - 1; i++) {
        enum prompt_owner owner = prompt_nth(i)->owner;

        if (owner == OWNER_PYTHON || owner == OWNER_TORCH)
            names[count++] = prompt_nth(i)->name;
    }
    names[count] = NULL;
    near = strlen(name) <= 32 ? cli_nearest(name, names) : NULL;
    if (near != NULL)
        return prompt_fail(p, "there is no '%s'; did you mean '%s'?", name,
                           near);
    return prompt_fail(p, "there is no '%s'; 'help' lists what there is", name);
}

static bool function_value(const struct prompt_builtin *b,
                           struct prompt_value *out)
{
    if (b == NULL)
        return false;
    *out = (struct prompt_value){.kind = VALUE_FUNCTION, .builtin = b};
    return true;
}

static bool evaluate_name(struct prompt *p, const node *n,
                          struct prompt_value *out)
{
    struct prompt_value *v = prompt_variable(p, n->text);

    if (v != NULL) {
        *out = prompt_value_ref(*v);
        return true;
    }
    if (prompt_constant(OWNER_TORCH, n->text, out) ||
        function_value(prompt_find(OWNER_PYTHON, n->text), out) ||
        function_value(prompt_find(OWNER_TORCH, n->text), out))
        return true;
    return fail_unknown(p, n->text);
}

/* ---- attributes ------------------------------------------------------------------- */

static bool fail_attribute(struct prompt *p, enum prompt_owner owner,
                           const char *what, const char *name)
{
    const char *names[NEAR_NAMES];
    const char *near;
    size_t count = 0;

    for (size_t i = 0; prompt_nth(i) != NULL && count < NEAR_NAMES - 1; i++) {
        if (prompt_nth(i)->owner == owner)
            names[count++] = prompt_nth(i)->name;
    }
    names[count] = NULL;
    near = strlen(name) <= 32 ? cli_nearest(name, names) : NULL;
    if (near != NULL)
        return prompt_fail(p, "%s has no '%s'; did you mean '%s'?", what, name,
                           near);
    return prompt_fail(p, "%s has no '%s'", what, name);
}

static bool package_attribute(struct prompt *p, enum prompt_owner owner,
                              const char *name, struct prompt_value *out)
{
    if (prompt_constant(owner, name, out) ||
        function_value(prompt_find(owner, name), out))
        return true;
    return fail_attribute(p, owner, prompt_owner_name(owner), name);
}

bool prompt_attribute(struct prompt *p, struct prompt_value object,
                      const char *name, struct prompt_value *out)
{
    enum prompt_owner owner = prompt_owner_of(object);
    const struct prompt_builtin *b;

    if (object.kind == VALUE_SPACE)
        return package_attribute(p, (enum prompt_owner)object.integer, name,
                                 out);
    b = prompt_find(owner, name);
    if (b == NULL)
        return fail_attribute(p, owner, prompt_value_what(object), name);
    *out = prompt_none();
    if (b->parameters == NULL)
        return b->call(p, b, &object, out);
    return prompt_method(object, b, out) || prompt_fail_memory(p);
}

static bool evaluate_attribute(struct prompt *p, const node *n,
                               struct prompt_value *out)
{
    struct prompt_value object;
    bool ok;

    if (!prompt_evaluate(p, n->first, &object))
        return false;
    ok = prompt_attribute(p, object, n->text, out);
    prompt_value_drop(&object);
    return ok;
}

/* ---- calls ---------------------------------------------------------------------- */

static void prompt_evaluate_drop_all(struct prompt_value *values, size_t count)
{
    while (count > 0)
        prompt_value_drop(&values[--count]);
}

static bool call_builtin(struct prompt *p, const struct prompt_builtin *b,
                         const struct prompt_value *given, size_t count,
                         const char *const *names, size_t named,
                         struct prompt_value *out)
{
    struct prompt_value values[PROMPT_PARAMETERS_MAX] = {{.integer = 0}};
    bool ok = prompt_bind(p, b, given, count, names, named, values);

    *out = prompt_none();
    ok = ok && b->call(p, b, values, out);
    prompt_evaluate_drop_all(values, PROMPT_PARAMETERS_MAX);
    return ok;
}

static bool call_method(struct prompt *p, const struct prompt_object *method,
                        const struct prompt_value *given, size_t count,
                        const char *const *names, size_t named,
                        struct prompt_value *out)
{
    struct prompt_value all[ARGUMENTS_MAX + 1];

    all[0] = method->items[0];
    memcpy(all + 1, given, (count + named) * sizeof *given);
    return call_builtin(p, method->builtin, all, count + 1, names, named, out);
}

static bool call_module(struct prompt *p, struct prompt_module *m,
                        const struct prompt_value *given, size_t count,
                        size_t named, struct prompt_value *out)
{
    size_t wanted = prompt_module_is_loss(m) ? 2 : 1;
    lab_tensor *input;
    lab_tensor *target = NULL;
    lab_tensor *made;

    if (count != wanted || named > 0)
        return prompt_fail(p, "%s takes %zu tensor%s", m->name, wanted,
                           wanted > 1 ? "s" : "");
    if (!prompt_read_tensor(p, given[0], "the input", &input) ||
        (wanted == 2 &&
         !prompt_read_tensor(p, given[1], "the target", &target)) ||
        !prompt_module_forward(p, m, input, target, &made))
        return false;
    return prompt_made(p, LARDER_OK, &made, out);
}

bool prompt_call(struct prompt *p, struct prompt_value callee,
                 const struct prompt_value *given, size_t count,
                 const char *const *names, size_t named,
                 struct prompt_value *out)
{
    switch (callee.kind) {
    case VALUE_FUNCTION:
        return call_builtin(p, callee.builtin, given, count, names, named, out);
    case VALUE_METHOD:
        return call_method(p, callee.object, given, count, names, named, out);
    case VALUE_MODULE:
        return call_module(p, callee.module, given, count, named, out);
    case VALUE_DEFINED:
        return prompt_call_defined(p, callee, given, count, names, named, out);
    default:
        return prompt_fail(p, "%s cannot be called", prompt_value_what(callee));
    }
}

struct arguments {
    struct prompt_value values[ARGUMENTS_MAX];
    const char *names[ARGUMENTS_MAX];
    size_t count; /* without named ones */
    size_t named;
};

static bool add_argument(struct prompt *p, struct arguments *a,
                         struct prompt_value *v)
{
    if (a->count + a->named == ARGUMENTS_MAX) {
        prompt_value_drop(v);
        return prompt_fail(p, "more than %d arguments", ARGUMENTS_MAX);
    }
    a->values[a->count + a->named] = *v;
    return true;
}

static bool add_starred(struct prompt *p, struct arguments *a, const node *n)
{
    struct prompt_value v;
    bool ok = true;

    if (!prompt_evaluate(p, n->first, &v))
        return false;
    if (!prompt_is_sequence(v))
        ok = prompt_fail(p, "'*' needs a tuple or a list, not %s",
                         prompt_value_what(v));
    for (size_t i = 0; ok && i < v.object->count; i++) {
        struct prompt_value item = prompt_value_ref(v.object->items[i]);

        ok = add_argument(p, a, &item);
        a->count += ok;
    }
    prompt_value_drop(&v);
    return ok;
}

static bool evaluate_argument(struct prompt *p, struct arguments *a,
                              const node *n)
{
    struct prompt_value v;

    if (n->kind != NODE_KEYWORD && a->named > 0)
        return prompt_fail(p, "an argument without a name after one with");
    if (n->kind == NODE_STAR)
        return add_starred(p, a, n);
    if (!prompt_evaluate(p, n->kind == NODE_KEYWORD ? n->first : n, &v) ||
        !add_argument(p, a, &v))
        return false;
    if (n->kind == NODE_KEYWORD)
        a->names[a->named++] = n->text;
    else
        a->count++;
    return true;
}

static bool evaluate_call(struct prompt *p, const node *n,
                          struct prompt_value *out)
{
    struct arguments a = {.count = 0, .named = 0};
    struct prompt_value callee;
    bool ok = prompt_evaluate(p, n->first, &callee);

    if (!ok)
        return false;
    for (const node *arg = n->first->next; ok && arg != NULL; arg = arg->next)
        ok = evaluate_argument(p, &a, arg);
    ok = ok && prompt_call(p, callee, a.values, a.count, a.names, a.named, out);
    prompt_evaluate_drop_all(a.values, a.count + a.named);
    prompt_value_drop(&callee);
    return ok;
}

/* ---- unary operators, displays and indices ---------------------------------------- */

static bool evaluate_pair(struct prompt *p, const node *n,
                          struct prompt_value *out)
{
    struct prompt_value a, b;
    bool ok;

    if (!prompt_evaluate(p, n->first, &a))
        return false;
    if (!prompt_evaluate(p, n->first->next, &b)) {
        prompt_value_drop(&a);
        return false;
    }
    ok = n->kind == NODE_COMPARE ? prompt_compare(p, n->op, a, b, out)
                                 : prompt_operate(p, n->op, a, b, out);
    prompt_value_drop(&a);
    prompt_value_drop(&b);
    return ok;
}

static bool negate(struct prompt *p, struct prompt_value v,
                   struct prompt_value *out)
{
    lab_tensor *made = NULL;

    if (v.kind == VALUE_TENSOR)
        return prompt_made(p, lab_neg(v.tensor, &made), &made, out);
    if (v.kind == VALUE_FLOAT)
        *out = prompt_float(-v.real);
    else if (!prompt_is_number(v))
        return prompt_fail(p, "%s has no negative", prompt_value_what(v));
    else if (v.integer == INT64_MIN)
        return prompt_fail(p, "whole numbers end at 2**63 - 1");
    else
        *out = prompt_int(-v.integer);
    return true;
}

static bool evaluate_unary(struct prompt *p, const node *n,
                           struct prompt_value *out)
{
    struct prompt_value v;
    bool ok;

    if (!prompt_evaluate(p, n->first, &v))
        return false;
    if (n->op[0] == '+') {
        *out = v;
        return true;
    }
    ok = negate(p, v, out);
    prompt_value_drop(&v);
    return ok;
}

static bool evaluate_items(struct prompt *p, const node *n,
                           struct prompt_value *out)
{
    enum prompt_value_kind kind =
        n->kind == NODE_LIST ? VALUE_LIST : VALUE_TUPLE;
    struct prompt_value all, item;

    if (!prompt_sequence(kind, &all))
        return prompt_fail_memory(p);
    for (const node *child = n->first; child != NULL; child = child->next) {
        if (!prompt_evaluate(p, child, &item)) {
            prompt_value_drop(&all);
            return false;
        }
        if (!prompt_sequence_add(all.object, item)) {
            prompt_value_drop(&item);
            prompt_value_drop(&all);
            return prompt_fail(p, "lists within lists end at %d",
                               PROMPT_NESTING_MAX);
        }
    }
    *out = all;
    return true;
}

static bool evaluate_index(struct prompt *p, const node *n,
                           struct prompt_value *out)
{
    struct prompt_value object;
    bool ok;

    if (!prompt_evaluate(p, n->first, &object))
        return false;
    ok = prompt_index(p, object, n->first->next, out);
    prompt_value_drop(&object);
    return ok;
}

bool prompt_truth(struct prompt *p, struct prompt_value v, bool *out)
{
    double x = 1;

    if (v.kind == VALUE_TENSOR && !prompt_check(p, lab_item(v.tensor, &x)))
        return false;
    if (v.kind == VALUE_TENSOR)
        *out = x != 0;
    else if (prompt_is_number(v))
        *out = prompt_number(v) != 0;
    else if (v.kind == VALUE_STRING)
        *out = v.object->text[0] != '\0';
    else if (v.kind == VALUE_RANGE)
        *out = prompt_range_count(v.object) > 0;
    else
        *out =
            prompt_is_sequence(v) ? v.object->count > 0 : v.kind != VALUE_NONE;
    return true;
}

static bool evaluate_not(struct prompt *p, const node *n,
                         struct prompt_value *out)
{
    struct prompt_value v;
    bool holds = false, ok;

    if (!prompt_evaluate(p, n->first, &v))
        return false;
    ok = prompt_truth(p, v, &holds);
    prompt_value_drop(&v);
    *out = prompt_bool(!holds);
    return ok;
}

/* The first value that decides the result is the result. */
static bool evaluate_logical(struct prompt *p, const node *n,
                             struct prompt_value *out)
{
    bool holds;

    if (!prompt_evaluate(p, n->first, out))
        return false;
    if (!prompt_truth(p, *out, &holds)) {
        prompt_value_drop(out);
        return false;
    }
    if (holds == (n->kind == NODE_OR))
        return true;
    prompt_value_drop(out);
    return prompt_evaluate(p, n->last, out);
}

static bool evaluate_kind(struct prompt *p, const node *n,
                          struct prompt_value *out)
{
    switch (n->kind) {
    case NODE_NONE:
        return true;
    case NODE_BOOL:
        *out = prompt_bool(n->integer != 0);
        return true;
    case NODE_INT:
        *out = prompt_int(n->integer);
        return true;
    case NODE_FLOAT:
        *out = prompt_float(n->real);
        return true;
    case NODE_STRING:
        return prompt_string(n->text, strlen(n->text), out) ||
               prompt_fail_memory(p);
    case NODE_NAME:
        return evaluate_name(p, n, out);
    case NODE_TUPLE:
    case NODE_LIST:
        return evaluate_items(p, n, out);
    case NODE_UNARY:
        return evaluate_unary(p, n, out);
    case NODE_BINARY:
    case NODE_COMPARE:
        return evaluate_pair(p, n, out);
    case NODE_NOT:
        return evaluate_not(p, n, out);
    case NODE_AND:
    case NODE_OR:
        return evaluate_logical(p, n, out);
    case NODE_ATTRIBUTE:
        return evaluate_attribute(p, n, out);
    case NODE_CALL:
        return evaluate_call(p, n, out);
    case NODE_INDEX:
        return evaluate_index(p, n, out);
    default:
        return prompt_fail(p, "this has no value");
    }
}

static bool may_go_on(struct prompt *p)
{
    if (p->interrupted != NULL && *p->interrupted)
        return prompt_fail(p, "interrupted");
    if (p->steps_max > 0 && ++p->steps > p->steps_max)
        return prompt_fail(p, "more than %llu steps",
                           (unsigned long long)p->steps_max);
    return true;
}

bool prompt_evaluate(struct prompt *p, const struct prompt_node *n,
                     struct prompt_value *out)
{
    bool ok;

    *out = prompt_none();
    if (p->depth == DEPTH_MAX)
        return prompt_fail(p, "calls within calls end at %d values", DEPTH_MAX);
    p->depth++;
    ok = may_go_on(p) && evaluate_kind(p, n, out);
    p->depth--;
    if (ok)
        return true;
    /* Report the innermost place. */
    if (p->error.at == SIZE_MAX)
        p->error.at = n->at;
    return false;
}
