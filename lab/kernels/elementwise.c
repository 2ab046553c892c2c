/* elementwise.c - element-wise operations on tensors of any strides, broadcast to one
 * shape. */
#include "kernels/kernels.h"

#include <math.h>

#include "tensor/element.h"
#include "tensor/float_math.h"
#include "tensor/odometer.h"
#include "tensor/wide.h"

/* Operand 0 of a row is the result.  The context is a float, the factor of operations
 * that have one, for whole numbers an int64. */
#define ROW                                                                    \
    (const void *context, int64_t n, char *const *at, const int64_t *step)

#define OPS (LAB__ADDCDIV + 1)

/* The row function `name` made of the loop `name##_body`, with the CPU's widest
 * vectors. */
#define ROW_TWICE(name) LAB__TWICE(name, ROW, (context, n, at, step))

/* A result may be exactly an operand's window, but not overlap it partially. */
#define EACH                                                                   \
    LAB__NO_OVERLAP                                                            \
    for (int64_t i = 0; i < n; i++)

/* ---- one operand -------------------------------------------------------- */

#define UNARY(name, result)                                                    \
    LAB__BODY name##_body ROW                                                  \
    {                                                                          \
        float *to = (float *)(void *)at[0];                                    \
        const float *from = (const float *)(const void *)at[1];                \
        int64_t down = step[0], up = step[1];                                  \
                                                                               \
        (void)context;                                                         \
        if (down == 1 && up == 1) {                                            \
            EACH                                                               \
            {                                                                  \
                float x = from[i];                                             \
                to[i] = (result);                                              \
            }                                                                  \
        } else {                                                               \
            EACH                                                               \
            {                                                                  \
                float x = from[i * up];                                        \
                to[i * down] = (result);                                       \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    ROW_TWICE(name)

UNARY(row_neg, -x)
UNARY(row_exp, lab__exp(x))
UNARY(row_log, lab__log(x))
UNARY(row_sqrt, __builtin_sqrtf(x))
UNARY(row_relu, x <= 0 ? 0 : x)
UNARY(row_gelu, x *lab__normal_below(x))
UNARY(row_tanh, lab__tanh(x))
UNARY(row_sigmoid, lab__sigmoid(x))

static lab__row_fn unary_row(lab__unary_op op)
{
    static const lab__row_fn rows[] = {
        [LAB__NEG] = row_neg,   [LAB__EXP] = row_exp,
        [LAB__LOG] = row_log,   [LAB__SQRT] = row_sqrt,
        [LAB__RELU] = row_relu, [LAB__GELU] = row_gelu,
        [LAB__TANH] = row_tanh, [LAB__SIGMOID] = row_sigmoid,
    };

    return rows[op];
}

/* ---- two operands ------------------------------------------------------- */

/* to[at_to] is where the result of a and b goes. */
#define BINARY_LOOP(T, A, B, place, of_a, of_b, result)                        \
    EACH                                                                       \
    {                                                                          \
        int64_t at_to = (place);                                               \
        A a = (of_a);                                                          \
        B b = (of_b);                                                          \
        to[at_to] = (T)(result);                                               \
    }

/* The cases with a loop of their own: both contiguous, or one of them a
 * number. */
#define BINARY_LOOPS(T, A, B, X, first, second, result)                        \
    T *to = (T *)(void *)at[0];                                                \
    const A *first = (const A *)(const void *)at[1];                           \
    const B *second = (const B *)(const void *)at[2];                          \
    int64_t down = step[0], left = step[1], right = step[2];                   \
    X k = *(const X *)context;                                                 \
                                                                               \
    (void)k;                                                                   \
    if (down == 1 && left == 1 && right == 1) {                                \
        BINARY_LOOP(T, A, B, i, first[i], second[i], result)                   \
    } else if (down == 1 && left == 1 && right == 0) {                         \
        B number = *second;                                                    \
        BINARY_LOOP(T, A, B, i, first[i], number, result)                      \
    } else if (down == 1 && left == 0 && right == 1) {                         \
        A number = *first;                                                     \
        BINARY_LOOP(T, A, B, i, number, second[i], result)                     \
    } else {                                                                   \
        BINARY_LOOP(T, A, B, i *down, first[i * left], second[i * right],      \
                    result)                                                    \
    }

#define BINARY(name, T, A, B, X, result)                                       \
    LAB__BODY name##_body ROW{                                                 \
        BINARY_LOOPS(T, A, B, X, first, second, result)} ROW_TWICE(name)

#define FLOATS(name, result) BINARY(name, float, float, float, float, result)

FLOATS(row_add, a + k * b)
FLOATS(row_sub, a - b)
FLOATS(row_mul, a *b)
FLOATS(row_div, a / b)
FLOATS(row_relu_back, b <= 0 ? 0 : a)
FLOATS(row_tanh_back, a *(1 - b * b))
FLOATS(row_sigmoid_back, a *b *(1 - b))
FLOATS(row_gelu_back, a *(lab__normal_below(b) + b * lab__normal_density(b)))

FLOATS(row_addcmul, to[at_to] + k * a * b)
FLOATS(row_addcdiv, to[at_to] + k * a / b)

/* ---- other types -------------------------------------------------------- */

/* Whole numbers wrap around: computed unsigned, where that is defined. */
#define INTS(name, result)                                                     \
    BINARY(name, uint64_t, uint64_t, uint64_t, uint64_t, result)

INTS(row_int_add, a + k * b)
INTS(row_int_sub, a - b)
INTS(row_int_mul, a *b)

BINARY(row_eq_float, unsigned char, float, float, float, a == b)
BINARY(row_eq_int, unsigned char, int64_t, int64_t, float, a == b)
BINARY(row_eq_bool, unsigned char, unsigned char, unsigned char, float,
       !a == !b)
BINARY(row_ge_float, unsigned char, float, float, float, a >= b)
/* By multiplication rather than selection, so that NaN stays NaN, as in PyTorch. */
BINARY(row_mask, float, float, unsigned char, float, a *((float)(b != 0) * k))

/* ---- powers ------------------------------------------------------------- */

/* The C library's pow(), except for the most common exponents. */
LAB__INLINE float power(float a, float b)
{
    if (b == 2)
        return a * a;
    if (b == 3)
        return a * a * a;
    if (b == 0.5F)
        return __builtin_sqrtf(a);
    return b == 1 ? a : powf(a, b);
}

static void row_square ROW
{
    float *to = (float *)(void *)at[0];
    const float *from = (const float *)(const void *)at[1];

    (void)context;
    EACH
    {
        float a = from[i * step[1]];
        to[i * step[0]] = a * a;
    }
}

static void row_pow_any ROW
{
    BINARY_LOOPS(float, float, float, float, first, second, power(a, b))
}

static void row_pow ROW
{
    if (step[2] == 0 && *(const float *)(const void *)at[2] == 2)
        row_square(context, n, at, step);
    else
        row_pow_any(context, n, at, step);
}

static uint64_t int_power(uint64_t a, uint64_t b)
{
    uint64_t result = 1;

    for (; b != 0; b >>= 1, a *= a)
        result *= (b & 1) != 0 ? a : 1;
    return result;
}

static void row_int_pow ROW
{
    BINARY_LOOPS(uint64_t, uint64_t, uint64_t, uint64_t, first, second,
                 int_power(a, b))
}

static const lab__row_fn float_rows[OPS] = {
    [LAB__ADD] = row_add,
    [LAB__SUB] = row_sub,
    [LAB__MUL] = row_mul,
    [LAB__DIV] = row_div,
    [LAB__POW] = row_pow,
    [LAB__EQ] = row_eq_float,
    [LAB__GE] = row_ge_float,
    [LAB__RELU_BACK] = row_relu_back,
    [LAB__TANH_BACK] = row_tanh_back,
    [LAB__SIGMOID_BACK] = row_sigmoid_back,
    [LAB__GELU_BACK] = row_gelu_back,
    [LAB__ADDCMUL] = row_addcmul,
    [LAB__ADDCDIV] = row_addcdiv,
};

static const lab__row_fn int_rows[OPS] = {
    [LAB__ADD] = row_int_add, [LAB__SUB] = row_int_sub,
    [LAB__MUL] = row_int_mul, [LAB__POW] = row_int_pow,
    [LAB__EQ] = row_eq_int,
};

/* NULL: there is no such operation on operands of these kinds. */
static lab__row_fn binary_row(lab__binary_op op, lab_dtype a, lab_dtype b)
{
    if (a == LAB_BOOL)
        return op == LAB__EQ ? row_eq_bool : NULL;
    if (op == LAB__MUL && a == LAB_FLOAT32 && b == LAB_BOOL)
        return row_mask;
    return (a == LAB_INT64 ? int_rows : float_rows)[op];
}

/* A loop with calls of exp() is worth a thread sooner. */
enum { GRAIN_CHEAP = LAB__GRAIN, GRAIN_DEAR = LAB__GRAIN / 8 };

/* ---- running ------------------------------------------------------------ */

static void elementwise_run(int operands, const lab_tensor *const *tensors,
                            int64_t grain, lab__row_fn row, const void *context)
{
    struct lab__odometer o;

    if (row == NULL || !lab__odometer_init(&o, operands, tensors))
        return;
    lab__odometer_run(tensors[0]->storage->session, &o, grain, row, context);
    lab__round(tensors[0]);
}

static bool unary_is_dear(lab__unary_op op)
{
    return op != LAB__NEG && op != LAB__RELU && op != LAB__SQRT;
}

void lab__unary(lab__unary_op op, lab_tensor *out, const lab_tensor *a)
{
    const lab_tensor *both[] = {out, a};

    elementwise_run(2, both, unary_is_dear(op) ? GRAIN_DEAR : GRAIN_CHEAP,
                    unary_row(op), NULL);
}

static bool binary_is_dear(lab__binary_op op)
{
    return op == LAB__POW || op == LAB__GELU_BACK;
}

void lab__binary(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 const lab_tensor *b, double x)
{
    const lab_tensor *all[] = {out, a, b};
    float as_float = (float)x;
    int64_t as_int = lab__to_int64(x);
    bool is_int = a->kind == LAB_INT64 && op != LAB__EQ;

    elementwise_run(3, all, binary_is_dear(op) ? GRAIN_DEAR : GRAIN_CHEAP,
                    binary_row(op, a->kind, b->kind),
                    is_int ? (const void *)&as_int : (const void *)&as_float);
}

void lab__scalar(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 double b)
{
    struct lab__number n;

    lab__binary(op, out, a,
                lab__number_make(&n, out->storage->session, a->kind, b), 1);
}

void lab__scalar_first(lab__binary_op op, lab_tensor *out, double a,
                       const lab_tensor *b)
{
    struct lab__number n;

    lab__binary(op, out,
                lab__number_make(&n, out->storage->session, b->kind, a), b, 1);
}
