/* prompt_methods.c - methods and properties of tensors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_function.h"

typedef struct prompt_value value;

/* ---- moving and copying ------------------------------------------------------------------- */

/* to('cuda'), to(int64), to(other): `what` is one of them. */
static bool move_to(struct prompt *p, lab_tensor *t, value what, value *out)
{
    lab_place place = LAB_HOST;
    lab_tensor *made = NULL;

    if (what.kind == VALUE_DTYPE)
        return prompt_made(p, lab_to_dtype(t, (lab_dtype)what.integer, &made),
                           &made, out);
    if (what.kind == VALUE_TENSOR)
        place = lab_place_of(what.tensor);
    else if (!prompt_read_place(p, what, &place))
        return false;
    return prompt_made(p, lab_to(t, place, &made), &made, out);
}

static PROMPT_FUNCTION(call_to)
{
    value named[2] = {args[2], args[3]};
    value now = prompt_value_ref(args[0]);

    (void)self;
    for (size_t i = 0; i < 3; i++) {
        value what = i < 1 ? args[1] : named[i - 1];
        value next = prompt_none();
        bool ok;

        if (what.kind == VALUE_NONE)
            continue;
        ok = move_to(p, now.tensor, what, &next);
        prompt_value_drop(&now);
        if (!ok)
            return false;
        now = next;
    }
    *out = now;
    return true;
}

static PROMPT_FUNCTION(call_place)
{
    value place = {.kind = VALUE_PLACE, .integer = self->number};

    return move_to(p, args[0].tensor, place, out);
}

static PROMPT_FUNCTION(call_dtype)
{
    value dtype = {.kind = VALUE_DTYPE, .integer = self->number};

    return move_to(p, args[0].tensor, dtype, out);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef larder_result by_sizes(lab_tensor *t, int ndim, const int64_t *sizes,
                               lab_tensor **out);
enum { SIZES_RESHAPE, SIZES_VIEW, SIZES_EXPAND };

static PROMPT_FUNCTION(call_sizes)
{
    static by_sizes *const functions[] = {[SIZES_RESHAPE] = lab_reshape,
                                          [SIZES_VIEW] = lab_view,
                                          [SIZES_EXPAND] = lab_expand};
    int64_t sizes[LAB_MAX_DIMS] = {0};
    lab_tensor *made = NULL;
    int ndim;

    if (!prompt_read_sizes(p, args[1], &ndim, sizes))
        return false;
    return prompt_made(
        p, functions[self->number](args[0].tensor, ndim, sizes, &made), &made,
        out);
}

static PROMPT_FUNCTION(call_permute)
{
    int64_t sizes[LAB_MAX_DIMS] = {0};
    int dims[LAB_MAX_DIMS] = {0};
    lab_tensor *made = NULL;
    int ndim;

    (void)self;
    if (!prompt_read_sizes(p, args[1], &ndim, sizes))
        return false;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] < -LAB_MAX_DIMS || sizes[i] > LAB_MAX_DIMS)
            return prompt_fail(p, "there is no dimension %" PRId64, sizes[i]);
        dims[i] = (int)sizes[i];
    }
    return prompt_made(p, lab_permute(args[0].tensor, ndim, dims, &made), &made,
                       out);
}

static PROMPT_FUNCTION(call_transpose)
{
    lab_tensor *made = NULL;
    int a = 0, b = 1;

    if (self->number == 0 &&
        (!prompt_read_dim(p, args[1], &a) || !prompt_read_dim(p, args[2], &b)))
        return false;
    if (self->number == 1 && lab_ndim(args[0].tensor) < 2) {
        *out = prompt_value_ref(args[0]);
        return true;
    }
    return prompt_made(p, lab_transpose(args[0].tensor, a, b, &made), &made,
                       out);
}

/* Move `count` tensors into a tuple; takes them, also on failure. */
static bool tuple_of(struct prompt *p, lab_tensor **all, int count, value *out)
{
    value tuple;
    bool ok = prompt_sequence(VALUE_TUPLE, &tuple);

    for (int i = 0; i < count; i++) {
        if (!ok || !prompt_sequence_add(tuple.object, prompt_tensor(all[i]))) {
            ok = false;
            lab_unref(all[i]);
        }
    }
    if (ok)
        *out = tuple;
    return ok || prompt_fail_memory(p);
}

static PROMPT_FUNCTION(call_chunk)
{
    lab_tensor **all;
    int64_t pieces;
    int count = 0;
    int dim;
    bool ok;

    (void)self;
    if (!prompt_read_int(p, args[1], "chunks", &pieces) ||
        !prompt_read_dim(p, args[2], &dim))
        return false;
    if (pieces < 1 || pieces > 1 << 20)
        return prompt_fail(p, "chunk makes 1 piece or more");
    all = calloc((size_t)pieces, sizeof *all);
    if (all == NULL)
        return prompt_fail_memory(p);
    ok = prompt_check(
             p, lab_chunk(args[0].tensor, (int)pieces, dim, all, &count)) &&
         tuple_of(p, all, count, out);
    free(all);
    return ok;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static PROMPT_FUNCTION(call_item)
{
    double x;

    (void)self;
    if (!prompt_check(p, lab_item(args[0].tensor, &x)))
        return false;
    *out = lab_dtype_of(args[0].tensor) == LAB_FLOAT32 ? prompt_float(x)
                                                       : prompt_int((int64_t)x);
    return true;
}

static bool sizes_tuple(struct prompt *p, const int64_t *sizes, int ndim,
                        value *out)
{
    value tuple;

    if (!prompt_sequence(VALUE_TUPLE, &tuple))
        return prompt_fail_memory(p);
    for (int i = 0; i < ndim; i++) {
        if (!prompt_sequence_add(tuple.object, prompt_int(sizes[i]))) {
            prompt_value_drop(&tuple);
            return prompt_fail_memory(p);
        }
    }
    *out = tuple;
    return true;
}

static PROMPT_FUNCTION(call_size)
{
    lab_tensor *t = args[0].tensor;
    int ndim = lab_ndim(t);
    int dim;

    (void)self;
    if (args[1].kind == VALUE_NONE)
        return sizes_tuple(p, lab_sizes(t), ndim, out);
    if (!prompt_read_dim(p, args[1], &dim))
        return false;
    if (dim < -ndim || dim >= ndim)
        return prompt_fail(p, "there is no dimension %d", dim);
    *out = prompt_int(lab_sizes(t)[dim < 0 ? dim + ndim : dim]);
    return true;
}

static PROMPT_FUNCTION(get_shape)
{
    (void)self;
    return sizes_tuple(p, lab_sizes(args[0].tensor), lab_ndim(args[0].tensor),
                       out);
}

static PROMPT_FUNCTION(call_stride)
{
    (void)self;
    return sizes_tuple(p, lab_strides(args[0].tensor), lab_ndim(args[0].tensor),
                       out);
}

/* The prompt can create only these three types. */
static int64_t element_bytes(const lab_tensor *t)
{
    lab_dtype dtype = lab_dtype_of(t);

    if (dtype == LAB_FLOAT32)
        return 4;
    return dtype == LAB_INT64 ? 8 : 1;
}

enum fact {
    FACT_NDIM,
    FACT_NUMEL,
    FACT_ELEMENT_SIZE,
    FACT_NBYTES,
    FACT_ADDRESS,
    FACT_CONTIGUOUS,
    FACT_REQUIRES_GRAD,
    FACT_IS_LEAF,
    FACT_IS_CUDA,
    FACT_DTYPE,
    FACT_PLACE,
    FACT_GRAD,
    FACT_GRAD_FN
};

static PROMPT_FUNCTION(get_grad)
{
    lab_tensor *grad = lab_grad(args[0].tensor);

    (void)p;
    (void)self;
    if (grad != NULL)
        *out = prompt_tensor(lab_ref(grad));
    return true;
}

static PROMPT_FUNCTION(get_grad_fn)
{
    const char *name = lab_grad_fn_name(args[0].tensor);

    (void)self;
    if (name == NULL)
        return true;
    return prompt_string(name, strlen(name), out) || prompt_fail_memory(p);
}

static PROMPT_FUNCTION(get_fact)
{
    const lab_tensor *t = args[0].tensor;

    (void)p;
    switch ((enum fact)self->number) {
    case FACT_NDIM:
        *out = prompt_int(lab_ndim(t));
        break;
    case FACT_NUMEL:
        *out = prompt_int(lab_numel(t));
        break;
    case FACT_ELEMENT_SIZE:
        *out = prompt_int(element_bytes(t));
        break;
    case FACT_NBYTES:
        *out = prompt_int(lab_numel(t) * element_bytes(t));
        break;
    case FACT_ADDRESS:
        *out = prompt_int((int64_t)lab_address(t));
        break;
    case FACT_CONTIGUOUS:
        *out = prompt_bool(lab_is_contiguous(t));
        break;
    case FACT_REQUIRES_GRAD:
        *out = prompt_bool(lab_requires_grad(t));
        break;
    case FACT_IS_LEAF:
        *out = prompt_bool(lab_is_leaf(t));
        break;
    case FACT_IS_CUDA:
        *out = prompt_bool(lab_place_of(t) == LAB_DEVICE);
        break;
    case FACT_DTYPE:
        *out = (value){.kind = VALUE_DTYPE, .integer = lab_dtype_of(t)};
        break;
    case FACT_PLACE:
        *out = (value){.kind = VALUE_PLACE, .integer = lab_place_of(t)};
        break;
    case FACT_GRAD:
        return get_grad(p, self, args, out);
    case FACT_GRAD_FN:
        return get_grad_fn(p, self, args, out);
    }
    return true;
}

/* ---- gradients ------------------------------------------------------------------------------------ */

static PROMPT_FUNCTION(call_backward)
{
    lab_tensor *grad = NULL;
    bool retain;

    (void)self;
    (void)out;
    if ((args[1].kind != VALUE_NONE &&
         !prompt_read_tensor(p, args[1], "gradient", &grad)) ||
        !prompt_read_bool(p, args[2], "retain_graph", &retain))
        return false;
    return prompt_check(p, lab_backward(args[0].tensor, grad, retain));
}

static PROMPT_FUNCTION(call_retain_grad)
{
    (void)self;
    (void)out;
    return prompt_check(p, lab_retain_grad(args[0].tensor));
}

static PROMPT_FUNCTION(call_requires_grad)
{
    bool on;

    (void)self;
    if (!prompt_read_bool(p, args[1], "requires_grad", &on) ||
        !prompt_check(p, lab_set_requires_grad(args[0].tensor, on)))
        return false;
    *out = prompt_value_ref(args[0]);
    return true;
}

/* ---- in place ---------------------------------------------------------------------------------------- */

static PROMPT_FUNCTION(change_by_operator)
{
    static const char *const operators[] = {"+", "-", "*", "/"};

    return prompt_operate_in_place(p, operators[self->number], args[0], args[1],
                                   out);
}

static PROMPT_FUNCTION(change_by_fill)
{
    double x = 0;

    if (self->number == 1 && !prompt_read_number(p, args[1], "value", &x))
        return false;
    if (!prompt_check(p, lab_fill_inplace(args[0].tensor, x)))
        return false;
    *out = prompt_value_ref(args[0]);
    return true;
}

static PROMPT_FUNCTION(change_by_copy)
{
    lab_tensor *from;

    (void)self;
    if (!prompt_read_tensor(p, args[1], "other", &from) ||
        !prompt_check(p, lab_copy_inplace(args[0].tensor, from)))
        return false;
    *out = prompt_value_ref(args[0]);
    return true;
}

static PROMPT_FUNCTION(change_by_relu)
{
    (void)self;
    if (!prompt_check(p, lab_relu_inplace(args[0].tensor)))
        return false;
    *out = prompt_value_ref(args[0]);
    return true;
}

#define METHOD(name, parameters, text, function, which)                        \
    PROMPT_ROW(OWNER_TENSOR, name, parameters, text, function, number, which)
#define PROPERTY(name, text, which)                                            \
    PROMPT_ROW(OWNER_TENSOR, name, NULL, text, get_fact, number, which)
#define FACT(name, text, which)                                                \
    PROMPT_ROW(OWNER_TENSOR, name, "self", text, get_fact, number, which)
#define UNARY(name, text, function)                                            \
    PROMPT_ROW(OWNER_TENSOR, name, "self", text, prompt_call_unary, unary,     \
               function)

const struct prompt_builtin prompt_method_table[] = {
    METHOD("to", "self, what=None, device=None, dtype=None",
           "to another device, dtype, or where another tensor is", call_to, 0),
    METHOD("cpu", "self", "to the host", call_place, LAB_HOST),
    METHOD("cuda", "self", "to the device", call_place, LAB_DEVICE),
    METHOD("float", "self", "as float32", call_dtype, LAB_FLOAT32),
    METHOD("long", "self", "as int64", call_dtype, LAB_INT64),
    UNARY("clone", "a copy, recorded for backward", lab_clone),
    UNARY("detach", "the same memory without its history", lab_detach),
    UNARY("contiguous", "itself, or a copy in row-major order", lab_contiguous),
    METHOD("reshape", "self, *shape", "another shape: a view where it can be",
           call_sizes, SIZES_RESHAPE),
    METHOD("view", "self, *shape", "another shape of the same memory",
           call_sizes, SIZES_VIEW),
    METHOD("expand", "self, *shape", "sizes of 1 made larger, without memory",
           call_sizes, SIZES_EXPAND),
    METHOD("permute", "self, *dims", "dimensions in another order",
           call_permute, 0),
    METHOD("transpose", "self, dim0, dim1", "two dimensions exchanged",
           call_transpose, 0),
    METHOD("t", "self", "a matrix transposed", call_transpose, 1),
    {OWNER_TENSOR,
     "T",
     NULL,
     "a matrix transposed",
     call_transpose,
     {.number = 1}},
    METHOD("squeeze", "self, dim", "without a dimension of 1", prompt_call_dim,
           DIM_SQUEEZE),
    METHOD("unsqueeze", "self, dim", "with one more dimension of 1",
           prompt_call_dim, DIM_UNSQUEEZE),
    METHOD("chunk", "self, chunks, dim=0", "views of equal parts", call_chunk,
           0),
    METHOD("sum", "self, dim=None, keepdim=False",
           "the sum, of all or along a dimension", prompt_call_reduction,
           REDUCE_SUM),
    METHOD("mean", "self, dim=None, keepdim=False",
           "the mean, of all or along a dimension", prompt_call_reduction,
           REDUCE_MEAN),
    METHOD("argmax", "self, dim", "where the largest is", prompt_call_dim,
           DIM_ARGMAX),
    METHOD("softmax", "self, dim", "exp(x) / sum(exp(x))", prompt_call_dim,
           DIM_SOFTMAX),
    METHOD("log_softmax", "self, dim", "the logarithm of softmax",
           prompt_call_dim, DIM_LOG_SOFTMAX),
    METHOD("add", "self, other", "self + other", prompt_call_operator, 0),
    METHOD("sub", "self, other", "self - other", prompt_call_operator, 1),
    METHOD("mul", "self, other", "self * other", prompt_call_operator, 2),
    METHOD("div", "self, other", "self / other", prompt_call_operator, 3),
    METHOD("pow", "self, exponent", "self ** exponent", prompt_call_operator,
           4),
    {OWNER_TENSOR,
     "matmul",
     "self, other",
     "matrix product: self @ other",
     prompt_call_binary,
     {.binary = lab_matmul}},
    {OWNER_TENSOR,
     "eq",
     "self, other",
     "equal elements, as bool",
     prompt_call_binary,
     {.binary = lab_eq}},
    UNARY("neg", "-self", lab_neg),
    UNARY("exp", "e to the power of each element", lab_exp),
    UNARY("log", "the natural logarithm", lab_log),
    UNARY("sqrt", "the square root", lab_sqrt),
    UNARY("relu", "0 for what is negative", lab_relu),
    UNARY("tanh", "hyperbolic tangent", lab_tanh),
    UNARY("sigmoid", "1 / (1 + exp(-x))", lab_sigmoid),
    METHOD("add_", "self, other", "self += other, in its memory",
           change_by_operator, 0),
    METHOD("sub_", "self, other", "self -= other, in its memory",
           change_by_operator, 1),
    METHOD("mul_", "self, other", "self *= other, in its memory",
           change_by_operator, 2),
    METHOD("div_", "self, other", "self /= other, in its memory",
           change_by_operator, 3),
    METHOD("zero_", "self", "all elements 0, in its memory", change_by_fill, 0),
    METHOD("fill_", "self, value", "all elements the same, in its memory",
           change_by_fill, 1),
    METHOD("copy_", "self, other", "the elements of another, in its memory",
           change_by_copy, 0),
    METHOD("relu_", "self", "relu in its memory", change_by_relu, 0),
    METHOD("item", "self", "the one element, as a number", call_item, 0),
    METHOD("size", "self, dim=None", "the sizes, or one of them", call_size, 0),
    METHOD("stride", "self", "elements from one to the next, by dimension",
           call_stride, 0),
    FACT("dim", "how many dimensions", FACT_NDIM),
    FACT("numel", "how many elements", FACT_NUMEL),
    FACT("element_size", "bytes of an element", FACT_ELEMENT_SIZE),
    FACT("data_ptr", "where the first element is", FACT_ADDRESS),
    FACT("is_contiguous", "in row-major order, without gaps", FACT_CONTIGUOUS),
    METHOD("backward", "self, gradient=None, retain_graph=False",
           "gradients of all that this was computed from", call_backward, 0),
    METHOD("retain_grad", "self", "keep the gradient, though no leaf",
           call_retain_grad, 0),
    METHOD("requires_grad_", "self, requires_grad=True",
           "whether a gradient is wanted", call_requires_grad, 0),
    {OWNER_TENSOR, "shape", NULL, "the sizes", get_shape, {.number = 0}},
    PROPERTY("ndim", "how many dimensions", FACT_NDIM),
    PROPERTY("dtype", "float32, int64 or bool", FACT_DTYPE),
    PROPERTY("device", "where it is", FACT_PLACE),
    PROPERTY("is_cuda", "whether it is on the device", FACT_IS_CUDA),
    PROPERTY("nbytes", "bytes of its elements", FACT_NBYTES),
    PROPERTY("grad", "its gradient, or None; can be set to None", FACT_GRAD),
    PROPERTY("requires_grad", "whether a gradient is wanted; can be set",
             FACT_REQUIRES_GRAD),
    PROPERTY("is_leaf", "not computed from what wants a gradient",
             FACT_IS_LEAF),
    PROPERTY("grad_fn", "what backward will call", FACT_GRAD_FN),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
