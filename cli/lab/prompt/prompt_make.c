/* prompt_make.c - functions that create tensors. */
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

typedef struct prompt_value value;

/* Arguments common to these functions. */
struct making {
    lab_dtype dtype;
    lab_place place;
    bool requires_grad;
    int ndim;
    int64_t sizes[LAB_MAX_DIMS];
};

/* args: dtype, device, requires_grad. */
static bool read_making(struct prompt *p, const value *args, struct making *m)
{
    return prompt_read_dtype(p, args[0], &m->dtype) &&
           prompt_read_place(p, args[1], &m->place) &&
           prompt_read_bool(p, args[2], "requires_grad", &m->requires_grad);
}

static bool prompt_make_finish(struct prompt *p, const struct making *m,
                               larder_result r, lab_tensor *const *made,
                               value *out)
{
    if (!prompt_made(p, r, made, out))
        return false;
    if (!m->requires_grad ||
        prompt_check(p, lab_set_requires_grad(out->tensor, true)))
        return true;
    prompt_value_drop(out);
    return false;
}

enum filling { FILL_EMPTY, FILL_ZEROS, FILL_ONES, FILL_RANDN, FILL_RAND };

static larder_result fill(struct prompt *p, int how, const struct making *m,
                          lab_tensor **made)
{
    switch ((enum filling)how) {
    case FILL_EMPTY:
        break;
    case FILL_ZEROS:
        return lab_zeros(p->lab, m->dtype, m->place, m->ndim, m->sizes, made);
    case FILL_ONES:
        return lab_ones(p->lab, m->dtype, m->place, m->ndim, m->sizes, made);
    case FILL_RANDN:
        return lab_randn(p->lab, m->dtype, m->place, m->ndim, m->sizes, made);
    case FILL_RAND:
        return lab_rand(p->lab, m->dtype, m->place, m->ndim, m->sizes, made);
    }
    return lab_empty(p->lab, m->dtype, m->place, m->ndim, m->sizes, made);
}

static bool make_filled(struct prompt *p, const struct prompt_builtin *self,
                        value *args, value *out)
{
    struct making m = {.dtype = LAB_FLOAT32, .place = LAB_HOST};
    lab_tensor *made = NULL;

    if (!prompt_read_shape(p, args[0], &m.ndim, m.sizes) ||
        !read_making(p, args + 1, &m))
        return false;
    return prompt_make_finish(p, &m, fill(p, self->number, &m, &made), &made,
                              out);
}

static bool make_like(struct prompt *p, const struct prompt_builtin *self,
                      value *args, value *out)
{
    struct making m = {.dtype = LAB_FLOAT32, .place = LAB_HOST};
    lab_tensor *made = NULL;
    lab_tensor *like;

    if (!prompt_read_tensor(p, args[0], "input", &like))
        return false;
    m.dtype = lab_dtype_of(like);
    m.place = lab_place_of(like);
    m.ndim = lab_ndim(like);
    memcpy(m.sizes, lab_sizes(like), (size_t)m.ndim * sizeof m.sizes[0]);
    if (!read_making(p, args + 1, &m))
        return false;
    return prompt_make_finish(p, &m, fill(p, self->number, &m, &made), &made,
                              out);
}

static bool make_full(struct prompt *p, const struct prompt_builtin *self,
                      value *args, value *out)
{
    struct making m = {.dtype = LAB_FLOAT32, .place = LAB_HOST};
    lab_tensor *made = NULL;
    double number;
    larder_result r;

    (void)self;
    if (args[1].kind == VALUE_INT)
        m.dtype = LAB_INT64;
    if (!prompt_read_shape(p, args[0], &m.ndim, m.sizes) ||
        !prompt_read_number(p, args[1], "fill_value", &number) ||
        !read_making(p, args + 2, &m))
        return false;
    r = lab_full(p->lab, m.dtype, m.place, m.ndim, m.sizes, number, &made);
    return prompt_make_finish(p, &m, r, &made, out);
}

/* randint(high, size) or randint(low, high, size). */
static bool make_randint(struct prompt *p, const struct prompt_builtin *self,
                         value *args, value *out)
{
    struct making m = {.dtype = LAB_INT64, .place = LAB_HOST};
    lab_tensor *made = NULL;
    int64_t low = 0;
    int64_t high;
    bool both = args[1].kind != VALUE_NONE && args[2].kind != VALUE_NONE;
    value size = args[2].kind != VALUE_NONE ? args[2] : args[1];
    larder_result r;

    (void)self;
    if ((both && !prompt_read_int(p, args[0], "low", &low)) ||
        !prompt_read_int(p, args[both ? 1 : 0], "high", &high) ||
        !prompt_read_shape(p, size, &m.ndim, m.sizes) ||
        !read_making(p, args + 3, &m))
        return false;
    r = lab_randint(p->lab, m.dtype, m.place, m.ndim, m.sizes, low, high,
                    &made);
    return prompt_make_finish(p, &m, r, &made, out);
}

/* arange(end), arange(start, end) or arange(start, end, step). */
static bool make_arange(struct prompt *p, const struct prompt_builtin *self,
                        value *args, value *out)
{
    struct making m = {.dtype = LAB_INT64, .place = LAB_HOST};
    lab_tensor *made = NULL;
    double ends[3] = {0, 0, 1};
    bool one = args[1].kind == VALUE_NONE;
    larder_result r;

    (void)self;
    for (int i = 0; i < 3; i++) {
        if (args[i].kind == VALUE_FLOAT)
            m.dtype = LAB_FLOAT32;
    }
    if (!prompt_read_number(p, args[0], "an end", &ends[one ? 1 : 0]) ||
        (!one && !prompt_read_number(p, args[1], "an end", &ends[1])) ||
        !prompt_read_number(p, args[2], "step", &ends[2]) ||
        !read_making(p, args + 3, &m))
        return false;
    if (p->elements_max > 0 && ends[2] != 0 &&
        (ends[1] - ends[0]) / ends[2] > (double)p->elements_max)
        return prompt_fail(p, "a tensor of more than %lld elements",
                           (long long)p->elements_max);
    r = lab_arange(p->lab, m.dtype, m.place, ends[0], ends[1], ends[2], &made);
    return prompt_make_finish(p, &m, r, &made, out);
}

static bool make_randperm(struct prompt *p, const struct prompt_builtin *self,
                          value *args, value *out)
{
    lab_tensor *made = NULL;
    int64_t n;

    (void)self;
    if (!prompt_read_int(p, args[0], "n", &n))
        return false;
    if (p->elements_max > 0 && n > p->elements_max)
        return prompt_fail(p, "a tensor of more than %lld elements",
                           (long long)p->elements_max);
    return prompt_made(p, lab_randperm(p->lab, n, &made), &made, out);
}

/* ---- from numbers ------------------------------------------------------------------ */

/* The numbers of nested lists, in order. */
struct numbers {
    value *all;
    size_t count, capacity;
    bool real;
};

static bool measure(struct prompt *p, value v, struct making *m)
{
    m->ndim = 0;
    while (prompt_is_sequence(v)) {
        if (m->ndim == LAB_MAX_DIMS)
            return prompt_fail(p, "a tensor has at most %d dimensions",
                               LAB_MAX_DIMS);
        m->sizes[m->ndim++] = (int64_t)v.object->count;
        if (v.object->count == 0)
            break;
        v = v.object->items[0];
    }
    return true;
}

static bool add_number(struct prompt *p, struct numbers *n, value v)
{
    if (n->count == n->capacity) {
        size_t capacity = n->capacity > 0 ? 2 * n->capacity : 16;
        value *grown = realloc(n->all, capacity * sizeof *grown);

        if (grown == NULL)
            return prompt_fail_memory(p);
        n->all = grown;
        n->capacity = capacity;
    }
    if (v.kind == VALUE_FLOAT)
        n->real = true;
    n->all[n->count++] = v;
    return true;
}

static bool prompt_make_gather(struct prompt *p, value v,
                               const struct making *m, int dim,
                               struct numbers *n)
{
    if (dim == m->ndim) {
        if (!prompt_is_number(v))
            return prompt_fail(p, "tensor takes numbers, not %s",
                               prompt_value_what(v));
        return add_number(p, n, v);
    }
    if (!prompt_is_sequence(v) || (int64_t)v.object->count != m->sizes[dim])
        return prompt_fail(p, "the lists differ in length");
    for (size_t i = 0; i < v.object->count; i++) {
        if (!prompt_make_gather(p, v.object->items[i], m, dim + 1, n))
            return false;
    }
    return true;
}

static bool write_numbers(struct prompt *p, const struct numbers *n,
                          lab_tensor *t)
{
    bool whole = lab_dtype_of(t) == LAB_INT64;
    size_t each = whole ? sizeof(int64_t) : sizeof(float);
    char *bytes = malloc(n->count * each + 1);
    bool ok;

    if (bytes == NULL)
        return prompt_fail_memory(p);
    for (size_t i = 0; i < n->count; i++) {
        double x = prompt_number(n->all[i]);
        float real = (float)x;
        int64_t integer = n->all[i].kind == VALUE_FLOAT
                              ? (x > -9e18 && x < 9e18 ? (int64_t)x : 0)
                              : n->all[i].integer;

        memcpy(bytes + i * each,
               whole ? (const void *)&integer : (const void *)&real, each);
    }
    ok = prompt_check(p, lab_write(t, bytes, n->count * each));
    free(bytes);
    return ok;
}

static bool make_tensor(struct prompt *p, const struct prompt_builtin *self,
                        value *args, value *out)
{
    struct making m = {.place = LAB_HOST};
    struct numbers n = {.count = 0};
    lab_tensor *made = NULL;
    bool ok =
        measure(p, args[0], &m) && prompt_make_gather(p, args[0], &m, 0, &n);

    (void)self;
    m.dtype = n.real || n.count == 0 ? LAB_FLOAT32 : LAB_INT64;
    ok = ok && read_making(p, args + 1, &m);
    if (ok && m.dtype == LAB_BOOL)
        ok = prompt_fail(p, "tensor makes float32 or int64");
    if (ok)
        ok = prompt_made(
                 p, lab_empty(p->lab, m.dtype, m.place, m.ndim, m.sizes, &made),
                 &made, out) &&
             write_numbers(p, &n, out->tensor) &&
             (!m.requires_grad ||
              prompt_check(p, lab_set_requires_grad(out->tensor, true)));
    free(n.all);
    if (!ok)
        prompt_value_drop(out);
    return ok;
}

#define MAKING "dtype=None, device=None, requires_grad=False"
#define FILLED(name, how, text)                                                \
    PROMPT_ROW(OWNER_TORCH, #name, "*size, " MAKING, text, make_filled,        \
               number, how)
#define LIKE(name, how, text)                                                  \
    PROMPT_ROW(OWNER_TORCH, #name, "input, " MAKING, text, make_like, number,  \
               how)

const struct prompt_builtin prompt_make_table[] = {
    FILLED(zeros, FILL_ZEROS, "a tensor of zeros"),
    FILLED(ones, FILL_ONES, "a tensor of ones"),
    FILLED(empty, FILL_EMPTY, "a tensor whose elements are not set"),
    FILLED(randn, FILL_RANDN, "random numbers around 0 (normal)"),
    FILLED(rand, FILL_RAND, "random numbers from 0 to 1"),
    {OWNER_TORCH,
     "full",
     "size, fill_value, " MAKING,
     "a tensor with the same number everywhere",
     make_full,
     {.number = 0}},
    {OWNER_TORCH,
     "randint",
     "low, high=None, size=None, " MAKING,
     "random whole numbers: randint(high, size) or randint(low, high, size)",
     make_randint,
     {.number = 0}},
    {OWNER_TORCH,
     "arange",
     "start, end=None, step=1, " MAKING,
     "start, start + step, ... below end",
     make_arange,
     {.number = 0}},
    {OWNER_TORCH,
     "randperm",
     "n",
     "0 ... n - 1 in random order",
     make_randperm,
     {.number = 0}},
    {OWNER_TORCH,
     "tensor",
     "data, " MAKING,
     "a tensor of the numbers in (nested) lists",
     make_tensor,
     {.number = 0}},
    LIKE(zeros_like, FILL_ZEROS, "zeros in the shape and place of another"),
    LIKE(ones_like, FILL_ONES, "ones in the shape and place of another"),
    LIKE(empty_like, FILL_EMPTY, "not set, in the shape and place of another"),
    LIKE(randn_like, FILL_RANDN, "randn in the shape and place of another"),
    LIKE(rand_like, FILL_RAND, "rand in the shape and place of another"),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
