/* prompt_read.c - converts arguments to what a function needs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

bool prompt_read_int(struct prompt *p, struct prompt_value v, const char *what,
                     int64_t *out)
{
    if (v.kind != VALUE_INT && v.kind != VALUE_BOOL)
        return prompt_fail(p, "%s must be a whole number, not %s", what,
                           prompt_value_what(v));
    *out = v.integer;
    return true;
}

bool prompt_read_dim(struct prompt *p, struct prompt_value v, int *out)
{
    int64_t n = 0;

    if (!prompt_read_int(p, v, "a dimension", &n))
        return false;
    if (n < -LAB_MAX_DIMS || n > LAB_MAX_DIMS)
        return prompt_fail(p, "there is no dimension %" PRId64, n);
    *out = (int)n;
    return true;
}

bool prompt_read_number(struct prompt *p, struct prompt_value v,
                        const char *what, double *out)
{
    if (!prompt_is_number(v))
        return prompt_fail(p, "%s must be a number, not %s", what,
                           prompt_value_what(v));
    *out = prompt_number(v);
    return true;
}

bool prompt_read_tensor(struct prompt *p, struct prompt_value v,
                        const char *what, lab_tensor **out)
{
    if (v.kind != VALUE_TENSOR)
        return prompt_fail(p, "%s must be a tensor, not %s", what,
                           prompt_value_what(v));
    *out = v.tensor;
    return true;
}

bool prompt_read_bool(struct prompt *p, struct prompt_value v, const char *what,
                      bool *out)
{
    if (!prompt_is_number(v))
        return prompt_fail(p, "%s must be True or False, not %s", what,
                           prompt_value_what(v));
    *out = prompt_number(v) != 0;
    return true;
}

bool prompt_read_place(struct prompt *p, struct prompt_value v, lab_place *out)
{
    const char *name;

    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind == VALUE_PLACE) {
        *out = (lab_place)v.integer;
        return true;
    }
    /* The package torch.cuda also stands for the device. */
    if (v.kind == VALUE_SPACE && v.integer == OWNER_CUDA) {
        *out = LAB_DEVICE;
        return true;
    }
    name = v.kind == VALUE_STRING ? v.object->text : "";
    if (strcmp(name, "cuda") == 0 || strcmp(name, "cuda:0") == 0)
        *out = LAB_DEVICE;
    else if (strcmp(name, "cpu") == 0)
        *out = LAB_HOST;
    else if (v.kind == VALUE_STRING)
        return prompt_fail(p, "there is no device '%s': 'cuda' or 'cpu'", name);
    else
        return prompt_fail(p, "a device is 'cuda' or 'cpu', not %s",
                           prompt_value_what(v));
    return true;
}

bool prompt_read_dtype(struct prompt *p, struct prompt_value v, lab_dtype *out)
{
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind != VALUE_DTYPE)
        return prompt_fail(p, "a dtype is float32 or int64, not %s",
                           prompt_value_what(v));
    *out = (lab_dtype)v.integer;
    return true;
}

bool prompt_read_sizes(struct prompt *p, struct prompt_value v, int *ndim,
                       int64_t sizes[LAB_MAX_DIMS])
{
    const struct prompt_object *o;

    if (v.kind == VALUE_INT) {
        *ndim = 1;
        sizes[0] = v.integer;
        return true;
    }
    if (!prompt_is_sequence(v))
        return prompt_fail(p, "sizes are whole numbers, not %s",
                           prompt_value_what(v));
    o = v.object;
    if (o->count == 1 && prompt_is_sequence(o->items[0]))
        o = o->items[0].object;
    if (o->count > LAB_MAX_DIMS)
        return prompt_fail(p, "a tensor has at most %d dimensions",
                           LAB_MAX_DIMS);
    for (size_t i = 0; i < o->count; i++) {
        if (!prompt_read_int(p, o->items[i], "a size", &sizes[i]))
            return false;
    }
    *ndim = (int)o->count;
    return true;
}

bool prompt_read_shape(struct prompt *p, struct prompt_value v, int *ndim,
                       int64_t sizes[LAB_MAX_DIMS])
{
    int64_t elements = 1;

    if (!prompt_read_sizes(p, v, ndim, sizes))
        return false;
    for (int i = 0; i < *ndim; i++) {
        if (sizes[i] < 0)
            return prompt_fail(p, "a size cannot be %" PRId64, sizes[i]);
    }
    for (int i = 0; p->elements_max > 0 && i < *ndim; i++) {
        if (__builtin_mul_overflow(elements, sizes[i], &elements) ||
            elements > p->elements_max)
            return prompt_fail(p, "a tensor of more than %lld elements",
                               (long long)p->elements_max);
    }
    return true;
}

bool prompt_read_tensors(struct prompt *p, struct prompt_value v,
                         lab_tensor ***out, size_t *count)
{
    lab_tensor **all;
    const struct prompt_object *o;

    if (!prompt_is_sequence(v))
        return prompt_fail(p, "a list of tensors is needed, not %s",
                           prompt_value_what(v));
    o = v.object;
    all = calloc(o->count + 1, sizeof *all);
    if (all == NULL)
        return prompt_fail_memory(p);
    for (size_t i = 0; i < o->count; i++) {
        if (!prompt_read_tensor(p, o->items[i], "each of the list", &all[i])) {
            free(all);
            return false;
        }
    }
    *out = all;
    *count = o->count;
    return true;
}
