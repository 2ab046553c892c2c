#include "prompt_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_module.h"
#include "prompt_table.h"

/* ---- plain values ------------------------------------------------------------ */

struct prompt_value prompt_none(void)
{
    return (struct prompt_value){.kind = VALUE_NONE, .integer = 0};
}

struct prompt_value prompt_bool(bool on)
{
    return (struct prompt_value){.kind = VALUE_BOOL, .integer = on};
}

struct prompt_value prompt_int(int64_t n)
{
    return (struct prompt_value){.kind = VALUE_INT, .integer = n};
}

struct prompt_value prompt_float(double x)
{
    return (struct prompt_value){.kind = VALUE_FLOAT, .real = x};
}

struct prompt_value prompt_tensor(lab_tensor *t)
{
    return (struct prompt_value){.kind = VALUE_TENSOR, .tensor = t};
}

/* ---- counting ----------------------------------------------------------------- */

static bool is_object(struct prompt_value v)
{
    return v.kind >= VALUE_STRING;
}

struct prompt_value prompt_value_ref(struct prompt_value v)
{
    if (v.kind == VALUE_TENSOR)
        lab_ref(v.tensor);
    else if (v.kind == VALUE_MODULE)
        prompt_module_ref(v.module);
    else if (is_object(v))
        v.object->refs++;
    return v;
}

static void object_drop(struct prompt_object *o)
{
    if (--o->refs > 0)
        return;
    for (size_t i = 0; i < o->count; i++)
        prompt_value_drop(&o->items[i]);
    lab_optimizer_destroy(o->optimizer);
    prompt_tree_free(&o->tree);
    free(o->items);
    free(o->text);
    free(o);
}

void prompt_value_drop(struct prompt_value *v)
{
    struct prompt_value was = *v;

    *v = prompt_none();
    if (was.kind == VALUE_TENSOR)
        lab_unref(was.tensor);
    else if (was.kind == VALUE_MODULE)
        prompt_module_unref(was.module);
    else if (is_object(was))
        object_drop(was.object);
}

/* ---- objects ------------------------------------------------------------------ */

static struct prompt_object *object_new(void)
{
    struct prompt_object *o = calloc(1, sizeof *o);

    if (o != NULL)
        o->refs = 1;
    return o;
}

static bool object_value(struct prompt_object *o, enum prompt_value_kind kind,
                         struct prompt_value *out)
{
    if (o == NULL)
        return false;
    *out = (struct prompt_value){.kind = kind, .object = o};
    return true;
}

/* An object with a copy of the text.  NULL: no host memory. */
static struct prompt_object *object_with_text(const char *s, size_t length)
{
    struct prompt_object *o = object_new();

    if (o == NULL)
        return NULL;
    o->text = malloc(length + 1);
    if (o->text == NULL) {
        object_drop(o);
        return NULL;
    }
    memcpy(o->text, s, length);
    o->text[length] = '\0';
    return o;
}

bool prompt_string(const char *s, size_t length, struct prompt_value *out)
{
    return object_value(object_with_text(s, length), VALUE_STRING, out);
}

bool prompt_sequence(enum prompt_value_kind kind, struct prompt_value *out)
{
    struct prompt_object *o = object_new();

    if (o != NULL)
        o->nesting = 1;
    return object_value(o, kind, out);
}

bool prompt_range(int64_t start, int64_t stop, int64_t step,
                  struct prompt_value *out)
{
    struct prompt_object *o = object_new();

    if (o != NULL) {
        o->start = start;
        o->stop = stop;
        o->step = step;
    }
    return object_value(o, VALUE_RANGE, out);
}

bool prompt_sequence_add(struct prompt_object *sequence, struct prompt_value v)
{
    unsigned inner = is_object(v) ? v.object->nesting : 0;

    if (inner + 1 > PROMPT_NESTING_MAX)
        return false;
    if (sequence->count == sequence->capacity) {
        size_t capacity = sequence->capacity > 0 ? 2 * sequence->capacity : 4;
        struct prompt_value *grown =
            realloc(sequence->items, capacity * sizeof *grown);

        if (grown == NULL)
            return false;
        sequence->items = grown;
        sequence->capacity = capacity;
    }
    sequence->items[sequence->count++] = v;
    if (inner + 1 > sequence->nesting)
        sequence->nesting = inner + 1;
    return true;
}

bool prompt_method(struct prompt_value self,
                   const struct prompt_builtin *builtin,
                   struct prompt_value *out)
{
    struct prompt_object *o = object_new();

    if (o == NULL)
        return false;
    o->items = malloc(sizeof *o->items);
    if (o->items == NULL) {
        object_drop(o);
        return false;
    }
    o->nesting = is_object(self) ? self.object->nesting : 0;
    o->items[0] = prompt_value_ref(self);
    o->count = 1;
    o->capacity = 1;
    o->builtin = builtin;
    return object_value(o, VALUE_METHOD, out);
}

bool prompt_defined(const char *source, struct prompt_value *out)
{
    struct prompt_object *o = object_with_text(source, strlen(source));
    struct prompt_error unused;

    if (o == NULL)
        return false;
    if (!prompt_parse(source, &o->tree, &unused)) {
        object_drop(o);
        return false;
    }
    return object_value(o, VALUE_DEFINED, out);
}

bool prompt_optimizer(lab_optimizer *optimizer, struct prompt_value *out)
{
    struct prompt_object *o = object_new();

    if (o == NULL)
        return false;
    o->optimizer = optimizer;
    return object_value(o, VALUE_OPTIMIZER, out);
}

/* ---- queries ------------------------------------------------------------------ */

bool prompt_is_sequence(struct prompt_value v)
{
    return v.kind == VALUE_TUPLE || v.kind == VALUE_LIST;
}

bool prompt_is_number(struct prompt_value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

double prompt_number(struct prompt_value v)
{
    return v.kind == VALUE_FLOAT ? v.real : (double)v.integer;
}

int64_t prompt_range_count(const struct prompt_object *range)
{
    uint64_t width;
    uint64_t step;

    if (range->step == 0 || (range->step > 0 ? range->start >= range->stop
                                             : range->start <= range->stop))
        return 0;
    if (range->step > 0) {
        width = (uint64_t)range->stop - (uint64_t)range->start;
        step = (uint64_t)range->step;
    } else {
        width = (uint64_t)range->start - (uint64_t)range->stop;
        step = 0 - (uint64_t)range->step;
    }
    width = (width - 1) / step + 1;
    return width > INT64_MAX ? INT64_MAX : (int64_t)width;
}

const char *prompt_value_what(struct prompt_value v)
{
    static const char *const names[] = {
        [VALUE_NONE] = "None",
        [VALUE_BOOL] = "a bool",
        [VALUE_INT] = "a whole number",
        [VALUE_FLOAT] = "a number",
        [VALUE_DTYPE] = "a dtype",
        [VALUE_PLACE] = "a device",
        [VALUE_MODE] = "a gradient mode",
        [VALUE_SPACE] = "a package",
        [VALUE_FUNCTION] = "a function",
        [VALUE_TENSOR] = "a tensor",
        [VALUE_MODULE] = "a module",
        [VALUE_STRING] = "a string",
        [VALUE_TUPLE] = "a tuple",
        [VALUE_LIST] = "a list",
        [VALUE_RANGE] = "a range",
        [VALUE_METHOD] = "a method",
        [VALUE_OPTIMIZER] = "an optimizer",
        [VALUE_DEFINED] = "a function",
    };

    return names[v.kind];
}

/* ---- writing ------------------------------------------------------------------- */

/* Python's format: the shortest form that reads back as the same number, with a
 * point. */
static void write_float(double x, struct prompt_text *out)
{
    char text[64];
    int digits = 1;

    if (isnan(x) || isinf(x)) {
        prompt_text_put(out, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    do {
        snprintf(text, sizeof text, "%.*g", digits, x);
    } while (strtod(text, NULL) != x && ++digits <= 17);
    /* Python writes whole numbers below 1e16 in full. */
    if (strchr(text, 'e') != NULL && fabs(x) >= 1 && fabs(x) < 1e16)
        snprintf(text, sizeof text, "%.0f", x);
    prompt_text_put(out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void write_quoted(const char *s, struct prompt_text *out)
{
    char quote = strchr(s, '\'') != NULL && strchr(s, '"') == NULL ? '"' : '\'';

    prompt_text_put(out, "%c", quote);
    for (; *s != '\0'; s++) {
        if (*s == '\n')
            prompt_text_put(out, "\\n");
        else if (*s == quote || *s == '\\')
            prompt_text_put(out, "\\%c", *s);
        else
            prompt_text_add(out, s, 1);
    }
    prompt_text_put(out, "%c", quote);
}

static void write_sequence(struct prompt_value v, struct prompt_text *out)
{
    const struct prompt_object *o = v.object;
    bool tuple = v.kind == VALUE_TUPLE;

    prompt_text_put(out, tuple ? "(" : "[");
    for (size_t i = 0; i < o->count && !out->full; i++) {
        prompt_text_put(out, i > 0 ? ", " : "");
        prompt_value_write(o->items[i], true, out);
    }
    prompt_text_put(out, "%s", tuple && o->count == 1 ? "," : "");
    prompt_text_put(out, tuple ? ")" : "]");
}

static void write_tensor(lab_tensor *t, struct prompt_text *out)
{
    size_t length = lab_format(t, NULL, 0);
    char *text = malloc(length + 1);

    if (text == NULL) {
        prompt_text_put(out, "tensor(...)");
        return;
    }
    lab_format(t, text, length + 1);
    prompt_text_add(out, text, strlen(text));
    free(text);
}

static void write_range(const struct prompt_object *o, struct prompt_text *out)
{
    prompt_text_put(out, "range(%" PRId64 ", %" PRId64, o->start, o->stop);
    if (o->step != 1)
        prompt_text_put(out, ", %" PRId64, o->step);
    prompt_text_put(out, ")");
}

static void write_other(struct prompt_value v, struct prompt_text *out)
{
    static const char *const dtypes[] = {[LAB_FLOAT32] = "torch.float32",
                                         [LAB_INT64] = "torch.int64",
                                         [LAB_BOOL] = "torch.bool"};

    switch (v.kind) {
    case VALUE_DTYPE:
        prompt_text_put(out, "%s", dtypes[v.integer]);
        break;
    case VALUE_PLACE:
        prompt_text_put(out, "%s",
                        v.integer == LAB_DEVICE ? "device(type='cuda', index=0)"
                                                : "device(type='cpu')");
        break;
    case VALUE_SPACE:
        prompt_text_put(out, "<package %s>",
                        prompt_owner_name((enum prompt_owner)v.integer));
        break;
    case VALUE_FUNCTION:
        prompt_text_put(out, "<function %s>", v.builtin->name);
        break;
    case VALUE_METHOD:
        prompt_text_put(out, "<method %s>", v.object->builtin->name);
        break;
    default:
        prompt_text_put(out, "<%s>", prompt_value_what(v));
        break;
    }
}

void prompt_value_write(struct prompt_value v, bool quoted,
                        struct prompt_text *out)
{
    switch (v.kind) {
    case VALUE_NONE:
        prompt_text_put(out, "None");
        break;
    case VALUE_BOOL:
        prompt_text_put(out, v.integer != 0 ? "True" : "False");
        break;
    case VALUE_INT:
        prompt_text_put(out, "%" PRId64, v.integer);
        break;
    case VALUE_FLOAT:
        write_float(v.real, out);
        break;
    case VALUE_STRING:
        if (quoted)
            write_quoted(v.object->text, out);
        else
            prompt_text_add(out, v.object->text, strlen(v.object->text));
        break;
    case VALUE_TUPLE:
    case VALUE_LIST:
        write_sequence(v, out);
        break;
    case VALUE_RANGE:
        write_range(v.object, out);
        break;
    case VALUE_TENSOR:
        write_tensor(v.tensor, out);
        break;
    case VALUE_MODULE:
        prompt_module_write(v.module, 0, out);
        break;
    default:
        write_other(v, out);
        break;
    }
}
