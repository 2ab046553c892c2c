/* prompt_python.c - the few built-in functions of Python that are supported. */
#include <stdlib.h>
#include <string.h>

#include "prompt_function.h"
#include "prompt_module.h"

typedef struct prompt_value value;

static PROMPT_FUNCTION(python_print)
{
    (void)self;
    (void)out;
    for (size_t i = 0; i < args[0].object->count; i++) {
        prompt_text_put(&p->output, i > 0 ? " " : "");
        prompt_value_write(args[0].object->items[i], false, &p->output);
    }
    prompt_end_line(p);
    return true;
}

static PROMPT_FUNCTION(python_len)
{
    value v = args[0];

    (void)self;
    if (prompt_is_sequence(v))
        *out = prompt_int((int64_t)v.object->count);
    else if (v.kind == VALUE_STRING)
        *out = prompt_int((int64_t)strlen(v.object->text));
    else if (v.kind == VALUE_RANGE)
        *out = prompt_int(prompt_range_count(v.object));
    else if (v.kind == VALUE_TENSOR && lab_ndim(v.tensor) > 0)
        *out = prompt_int(lab_sizes(v.tensor)[0]);
    else if (v.kind == VALUE_MODULE)
        *out = prompt_int((int64_t)v.module->child_count);
    else
        return prompt_fail(p, "%s has no length", prompt_value_what(v));
    return true;
}

/* range(stop), range(start, stop) or range(start, stop, step). */
static PROMPT_FUNCTION(python_range)
{
    bool one = args[1].kind == VALUE_NONE;
    int64_t start = 0, stop, step;

    (void)self;
    if ((!one && !prompt_read_int(p, args[0], "start", &start)) ||
        !prompt_read_int(p, args[one ? 0 : 1], "stop", &stop) ||
        !prompt_read_int(p, args[2], "step", &step))
        return false;
    if (step == 0)
        return prompt_fail(p, "range needs a step that is not 0");
    return prompt_range(start, stop, step, out) || prompt_fail_memory(p);
}

/* A list with lists as items could come to contain itself, and would never be
 * freed. */
static PROMPT_FUNCTION(list_append)
{
    value v;

    (void)self;
    (void)out;
    if (prompt_is_sequence(args[1]) || args[1].kind == VALUE_METHOD)
        return prompt_fail(p,
                           "append takes a tensor, a number or a string "
                           "here, not %s",
                           prompt_value_what(args[1]));
    v = prompt_value_ref(args[1]);
    if (prompt_sequence_add(args[0].object, v))
        return true;
    prompt_value_drop(&v);
    return prompt_fail_memory(p);
}

static PROMPT_FUNCTION(list_clear)
{
    struct prompt_object *o = args[0].object;

    (void)p;
    (void)self;
    (void)out;
    /* In order, as Python does. */
    for (size_t i = 0; i < o->count; i++)
        prompt_value_drop(&o->items[i]);
    o->count = 0;
    return true;
}

static PROMPT_FUNCTION(list_pop)
{
    struct prompt_object *o = args[0].object;

    (void)self;
    if (o->count == 0)
        return prompt_fail(p, "the list is empty");
    *out = o->items[--o->count];
    return true;
}

#define PYTHON(owner, name, parameters, text, function)                        \
    PROMPT_ROW(owner, name, parameters, text, function, number, 0)

const struct prompt_builtin prompt_python_table[] = {
    PYTHON(OWNER_PYTHON, "print", "*values", "show values", python_print),
    PYTHON(OWNER_PYTHON, "len", "value", "how many items", python_len),
    PYTHON(OWNER_PYTHON, "range", "start, stop=None, step=1",
           "for i in range(n): ...", python_range),
    PYTHON(OWNER_LIST, "append", "self, value", "one more at the end",
           list_append),
    PYTHON(OWNER_LIST, "pop", "self", "the last one, taken out", list_pop),
    PYTHON(OWNER_LIST, "clear", "self", "without any", list_clear),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
