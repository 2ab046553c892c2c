/* prompt_index.c - x[...]: views of tensors, items of lists. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

typedef struct prompt_node node;

struct slice {
    int64_t begin, end, step;
};

static bool slice_part(struct prompt *p, const node *n, int64_t otherwise,
                       int64_t *out)
{
    struct prompt_value v;
    bool ok;

    *out = otherwise;
    if (!prompt_evaluate(p, n, &v))
        return false;
    ok = v.kind == VALUE_NONE || prompt_read_int(p, v, "a slice's end", out);
    prompt_value_drop(&v);
    return ok;
}

static int64_t within(int64_t i, int64_t size)
{
    if (i < 0)
        i = i < -size ? 0 : i + size;
    return i < size ? i : size;
}

static bool read_slice(struct prompt *p, const node *n, int64_t size,
                       struct slice *s)
{
    const node *end = n->first->next;

    if (!slice_part(p, n->first, 0, &s->begin) ||
        !slice_part(p, end, size, &s->end) ||
        !slice_part(p, end->next, 1, &s->step))
        return false;
    if (s->step < 1)
        return prompt_fail(p, "a slice's step must be 1 or more");
    s->begin = within(s->begin, size);
    s->end = within(s->end, size);
    if (s->end < s->begin)
        s->end = s->begin;
    return true;
}

/* ---- sequences --------------------------------------------------------------- */

static bool sequence_slice(struct prompt *p, struct prompt_value object,
                           const node *n, struct prompt_value *out)
{
    struct prompt_value part;
    struct slice s;

    if (!read_slice(p, n, (int64_t)object.object->count, &s))
        return false;
    if (!prompt_sequence(object.kind, &part))
        return prompt_fail_memory(p);
    for (int64_t i = s.begin; i < s.end;) {
        struct prompt_value item = prompt_value_ref(object.object->items[i]);

        if (!prompt_sequence_add(part.object, item)) {
            prompt_value_drop(&item);
            prompt_value_drop(&part);
            return prompt_fail_memory(p);
        }
        if (s.step >= s.end - i)
            break;
        i += s.step;
    }
    *out = part;
    return true;
}

static bool item_of(struct prompt *p, int64_t i, int64_t count, int64_t *out)
{
    if (i < -count || i >= count)
        return prompt_fail(p, "there is no item %" PRId64 " of %" PRId64, i,
                           count);
    *out = i < 0 ? i + count : i;
    return true;
}

static bool index_sequence(struct prompt *p, struct prompt_value object,
                           const node *n, struct prompt_value *out)
{
    struct prompt_value v;
    int64_t i = 0;
    bool ok;

    if (n->next != NULL)
        return prompt_fail(p, "%s takes one index", prompt_value_what(object));
    if (n->kind == NODE_SLICE)
        return sequence_slice(p, object, n, out);
    if (!prompt_evaluate(p, n, &v))
        return false;
    ok = prompt_read_int(p, v, "an index", &i) &&
         item_of(p, i, (int64_t)object.object->count, &i);
    prompt_value_drop(&v);
    if (ok)
        *out = prompt_value_ref(object.object->items[i]);
    return ok;
}

static bool index_module(struct prompt *p, struct prompt_value object,
                         const node *n, struct prompt_value *out)
{
    const struct prompt_builtin *b = prompt_find(OWNER_MODULE, "__getitem__");
    struct prompt_value args[2] = {object, prompt_none()};
    bool ok;

    if (n->next != NULL || n->kind == NODE_SLICE)
        return prompt_fail(p, "a module takes one index");
    if (!prompt_evaluate(p, n, &args[1]))
        return false;
    ok = b->call(p, b, args, out);
    prompt_value_drop(&args[1]);
    return ok;
}

/* ---- tensors ------------------------------------------------------------------- */

static bool index_by_value(struct prompt *p, lab_tensor *t, int *dim,
                           struct prompt_value v, struct prompt_value *out)
{
    lab_tensor *made = NULL;
    int64_t i;

    if (v.kind == VALUE_NONE)
        return prompt_made(p, lab_unsqueeze(t, (*dim)++, &made), &made, out);
    if (v.kind == VALUE_TENSOR) {
        if (*dim != 0)
            return prompt_fail(p, "a tensor can be an index of the first "
                                  "dimension only");
        *dim += lab_ndim(v.tensor);
        return prompt_made(p, lab_index_rows(t, v.tensor, &made), &made, out);
    }
    if (!prompt_read_int(p, v, "an index", &i))
        return false;
    if (*dim >= lab_ndim(t))
        return prompt_fail(p, "more indices than the tensor has dimensions");
    if (!item_of(p, i, lab_sizes(t)[*dim], &i))
        return false;
    return prompt_made(p, lab_select(t, *dim, i, &made), &made, out);
}

static bool index_once(struct prompt *p, lab_tensor *t, int *dim, const node *n,
                       struct prompt_value *out)
{
    lab_tensor *made = NULL;
    struct prompt_value v;
    struct slice s;
    bool ok;

    if (n->kind == NODE_SLICE) {
        if (*dim >= lab_ndim(t))
            return prompt_fail(p,
                               "more indices than the tensor has dimensions");
        if (!read_slice(p, n, lab_sizes(t)[*dim], &s))
            return false;
        (*dim)++;
        return prompt_made(
            p, lab_slice(t, *dim - 1, s.begin, s.end, s.step, &made), &made,
            out);
    }
    if (!prompt_evaluate(p, n, &v))
        return false;
    ok = index_by_value(p, t, dim, v, out);
    prompt_value_drop(&v);
    return ok;
}

static bool index_tensor(struct prompt *p, lab_tensor *t, const node *n,
                         struct prompt_value *out)
{
    struct prompt_value now = prompt_tensor(lab_ref(t));
    int dim = 0;

    for (; n != NULL; n = n->next) {
        struct prompt_value next = prompt_none();
        bool ok = index_once(p, now.tensor, &dim, n, &next);

        prompt_value_drop(&now);
        if (!ok)
            return false;
        now = next;
    }
    *out = now;
    return true;
}

bool prompt_index(struct prompt *p, struct prompt_value object,
                  const struct prompt_node *indices, struct prompt_value *out)
{
    if (object.kind == VALUE_TENSOR)
        return index_tensor(p, object.tensor, indices, out);
    if (object.kind == VALUE_MODULE)
        return index_module(p, object, indices, out);
    if (prompt_is_sequence(object))
        return index_sequence(p, object, indices, out);
    return prompt_fail(p, "%s has no items", prompt_value_what(object));
}
