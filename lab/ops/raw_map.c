/* raw_map.c - element-wise operations on operands of any kinds, each a function of
 * one element; not recorded. */
#include <math.h>
#include <string.h>

#include "ops/op.h"
#include "tensor/element.h"
#include "tensor/odometer.h"

/* Whole numbers are converted to double, exact below 2^53; bitwise operations
 * are not. */

static const double ROOT_2_BY_PI = 0.79788456080286535588;
static const double CUBIC = 0.044715;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x, double beta, double threshold)
{
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

static double clamped(double x, double min, double max)
{
    if (x != x)
        return x;
    return x < min ? min : x > max ? max : x;
}

static double sign_of(double x)
{
    return (x > 0) - (x < 0);
}

static double log_sigmoid(double x)
{
    return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
}

/* Python's remainder: it has the divisor's sign. */
static double remainder_of(double x, double y)
{
    double rest = fmod(x, y);

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static int64_t bits_of(double x)
{
    return lab__to_int64(x);
}

static double silu_slope(double x)
{
    double s = sigmoid(x);

    return s * (1 + x * (1 - s));
}

static double mish_slope(double x)
{
    double t = tanh(softplus(x, 1, 20));

    return t + x * sigmoid(x) * (1 - t * t);
}

static double gelu_tanh_slope(double x)
{
    double t = tanh(ROOT_2_BY_PI * (x + CUBIC * x * x * x));

    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * ROOT_2_BY_PI * (1 + 3 * CUBIC * x * x);
}

static double hardswish_slope(double x)
{
    if (x <= -3)
        return 0;
    return x >= 3 ? 1 : x / 3 + 0.5;
}

/* Quadratic up to beta, linear beyond. */
static double smooth_l1(double x, double beta)
{
    double size = fabs(x);

    return size < beta ? 0.5 * size * size / beta : size - 0.5 * beta;
}

static double huber(double x, double delta)
{
    double size = fabs(x);

    return size <= delta ? 0.5 * size * size : delta * (size - 0.5 * delta);
}

/* PyTorch's lower bound of a logarithm. */
static double bounded_log(double x)
{
    double result = log(x);

    return result < -100 ? -100 : result;
}

/* ---- the table ---------------------------------------------------------- */

/* Name, operands, result, and the function of the operands x, y and z and the
 * numbers p and q. */
#define MAP_OPS(OP)                                                            \
    /* one operand */                                                          \
    OP(abs, 1, SAME, fabs(x))                                                  \
    OP(sign, 1, SAME, sign_of(x))                                              \
    OP(floor, 1, SAME, floor(x))                                               \
    OP(ceil, 1, SAME, ceil(x))                                                 \
    OP(round, 1, SAME, rint(x))                                                \
    OP(trunc, 1, SAME, trunc(x))                                               \
    OP(sin, 1, FLOAT, sin(x))                                                  \
    OP(cos, 1, FLOAT, cos(x))                                                  \
    OP(tan, 1, FLOAT, tan(x))                                                  \
    OP(asin, 1, FLOAT, asin(x))                                                \
    OP(acos, 1, FLOAT, acos(x))                                                \
    OP(atan, 1, FLOAT, atan(x))                                                \
    OP(sinh, 1, FLOAT, sinh(x))                                                \
    OP(cosh, 1, FLOAT, cosh(x))                                                \
    OP(erf, 1, FLOAT, erf(x))                                                  \
    OP(exp2, 1, FLOAT, exp2(x))                                                \
    OP(expm1, 1, FLOAT, expm1(x))                                              \
    OP(log1p, 1, FLOAT, log1p(x))                                              \
    OP(log2, 1, FLOAT, log2(x))                                                \
    OP(log10, 1, FLOAT, log10(x))                                              \
    OP(rsqrt, 1, FLOAT, 1 / sqrt(x))                                           \
    OP(reciprocal, 1, FLOAT, 1 / x)                                            \
    OP(clamp, 1, SAME, clamped(x, p, q))                                       \
    OP(silu, 1, FLOAT, sigmoid(x) * x)                                         \
    OP(mish, 1, FLOAT, tanh(softplus(x, 1, 20)) * x)                           \
    OP(softplus, 1, FLOAT, softplus(x, p, q))                                  \
    OP(leaky_relu, 1, FLOAT, x > 0 ? x : x * p)                                \
    OP(elu, 1, FLOAT, x > 0 ? x : p * expm1(x))                                \
    OP(hardswish, 1, FLOAT, clamped(x + 3, 0, 6) * x / 6)                      \
    OP(hardsigmoid, 1, FLOAT, clamped(x + 3, 0, 6) / 6)                        \
    OP(logsigmoid, 1, FLOAT, log_sigmoid(x))                                   \
    OP(threshold, 1, SAME, x > p ? x : q)                                      \
    OP(gelu_tanh, 1, FLOAT,                                                    \
       0.5 * x * (1 + tanh(ROOT_2_BY_PI * (x + CUBIC * x * x * x))))           \
    OP(logical_not, 1, BOOL, x == 0)                                           \
    OP(bitwise_not, 1, SAME, -1 - x)                                           \
    OP(isnan, 1, BOOL, isnan(x))                                               \
    OP(isinf, 1, BOOL, isinf(x))                                               \
    OP(isfinite, 1, BOOL, isfinite(x))                                         \
    OP(rpow, 1, SAME, pow(p, x))                                               \
    OP(below, 1, BOOL, x < p)                                                  \
    /* two operands */                                                         \
    OP(lt, 2, BOOL, x < y)                                                     \
    OP(le, 2, BOOL, x <= y)                                                    \
    OP(gt, 2, BOOL, x > y)                                                     \
    OP(ge, 2, BOOL, x >= y)                                                    \
    OP(eq, 2, BOOL, x == y)                                                    \
    OP(ne, 2, BOOL, x != y)                                                    \
    OP(logical_and, 2, BOOL, x != 0 && y != 0)                                 \
    OP(logical_or, 2, BOOL, x != 0 || y != 0)                                  \
    OP(logical_xor, 2, BOOL, (x != 0) != (y != 0))                             \
    OP(bitwise_and, 2, SAME, (double)(bits_of(x) & bits_of(y)))                \
    OP(bitwise_or, 2, SAME, (double)(bits_of(x) | bits_of(y)))                 \
    OP(bitwise_xor, 2, SAME, (double)(bits_of(x) ^ bits_of(y)))                \
    OP(maximum, 2, SAME, isnan(x) || x > y ? x : y)                            \
    OP(minimum, 2, SAME, isnan(x) || x < y ? x : y)                            \
    OP(atan2, 2, FLOAT, atan2(x, y))                                           \
    OP(fmod, 2, SAME, fmod(x, y))                                              \
    OP(remainder, 2, SAME, remainder_of(x, y))                                 \
    OP(floor_divide, 2, SAME, floor(x / y))                                    \
    OP(pow, 2, SAME, pow(x, y))                                                \
    OP(masked_fill, 2, SAME, y != 0 ? p : x)                                   \
    OP(silu_backward, 2, SAME, silu_slope(y) * x)                              \
    OP(mish_backward, 2, SAME, mish_slope(y) * x)                              \
    OP(softplus_backward, 2, SAME, q < y * p ? x : x * sigmoid(y * p))         \
    OP(leaky_relu_backward, 2, SAME, y > 0 ? x : x * p)                        \
    OP(elu_backward, 2, SAME, y > 0 ? x : x * p * exp(y))                      \
    OP(clamp_backward, 2, SAME, y >= p && y <= q ? x : 0)                      \
    OP(hardswish_backward, 2, SAME, hardswish_slope(y) * x)                    \
    OP(hardsigmoid_backward, 2, SAME, y > -3 && y < 3 ? x / 6 : 0)             \
    OP(logsigmoid_backward, 2, SAME, sigmoid(-y) * x)                          \
    OP(threshold_backward, 2, SAME, y > p ? x : 0)                             \
    OP(gelu_tanh_backward, 2, SAME, gelu_tanh_slope(y) * x)                    \
    OP(smooth_l1, 2, FLOAT, smooth_l1(x - y, p))                               \
    OP(huber, 2, FLOAT, huber(x - y, p))                                       \
    OP(l1, 2, FLOAT, fabs(x - y))                                              \
    OP(bce, 2, FLOAT, -(y * bounded_log(x) + (1 - y) * bounded_log(1 - x)))    \
    /* three operands */                                                       \
    OP(where, 3, CHOICE, x != 0 ? y : z)                                       \
    OP(lerp, 3, SAME, x + z * (y - x))                                         \
    OP(addcmul, 3, SAME, x + p * y * z)                                        \
    OP(addcdiv, 3, SAME, x + p * y / z)                                        \
    /* x: the gradient, y and z: the input and the target */                   \
    OP(smooth_l1_backward, 3, SAME, clamped((y - z) / p, -1, 1) * x)           \
    OP(huber_backward, 3, SAME, clamped(y - z, -p, p) * x)                     \
    OP(l1_backward, 3, SAME, sign_of(y - z) * x)                               \
    OP(bce_backward, 3, SAME, (y - z) * x / fmax((1 - y) * y, 1e-12))          \
    /* y: the divisor of a norm; z: the norm; p: its order */                  \
    OP(norm_backward, 3, SAME,                                                 \
       z == 0 ? 0 : x * sign_of(y) * pow(fabs(y) / z, p - 1))

#define FUNCTION(name, arity, result, expression)                              \
    static double name##_op(double x, double y, double z, double p, double q)  \
    {                                                                          \
        (void)x, (void)y, (void)z, (void)p, (void)q;                           \
        return (expression);                                                   \
    }
MAP_OPS(FUNCTION)

/* The type of a result: that of the operands, at least float32, bool, or that of
 * the operands but the first, a condition. */
enum result { SAME, FLOAT, BOOL, CHOICE };

struct operation {
    const char *name;
    int arity;
    enum result result;
    double (*of)(double x, double y, double z, double p, double q);
};

static const struct operation ops[] = {
#define ROW(name, arity, result, expression) {#name, arity, result, name##_op},
    MAP_OPS(ROW)
#undef ROW
};

enum { OPS = sizeof ops / sizeof ops[0] };

int lab_raw_find(const char *name)
{
    for (int i = 0; i < OPS; i++) {
        if (strcmp(ops[i].name, name) == 0)
            return i;
    }
    return -1;
}

static bool is_op(int number)
{
    return number >= 0 && number < OPS;
}

int lab_raw_arity(int op)
{
    return is_op(op) ? ops[op].arity : 0;
}

/* ---- running ------------------------------------------------------------ */

struct run {
    const struct operation *op;
    double p, q;
    unsigned char kind[4]; /* of the result and of the operands */
};

static void map_row(const void *context, int64_t n, char *const *at,
                    const int64_t *step)
{
    const struct run *run = context;

    for (int64_t i = 0; i < n; i++) {
        double x[3] = {0};

        for (int k = 0; k < run->op->arity; k++)
            x[k] = lab__element(at[k + 1], run->kind[k + 1], i * step[k + 1]);
        lab__element_set(at[0], run->kind[0], i * step[0],
                         run->op->of(x[0], x[1], x[2], run->p, run->q));
    }
}

/* Operands are broadcast to out. */
static void map(const struct operation *op, lab_tensor *out,
                lab_tensor *const *operands, double p, double q)
{
    const lab_tensor *all[4] = {out};
    struct run run = {.op = op, .p = p, .q = q, .kind = {out->kind}};
    struct lab__odometer o;

    for (int i = 0; i < op->arity; i++) {
        all[i + 1] = operands[i];
        run.kind[i + 1] = operands[i]->kind;
    }
    if (!lab__odometer_init(&o, op->arity + 1, all))
        return;
    lab__odometer_run(out->storage->session, &o, LAB__GRAIN / 8, map_row, &run);
    lab__round(out);
}

/* ---- the operations ----------------------------------------------------- */

static larder_result op_get(int number, const struct operation **out)
{
    if (!is_op(number))
        return lab__invalid("%d is not the number of an operation", number);
    *out = &ops[number];
    return LARDER_OK;
}

static larder_result sizes_meet(const struct operation *op,
                                lab_tensor *const *operands, int *ndim,
                                int64_t sizes[LAB_MAX_DIMS])
{
    *ndim = 0;
    for (int i = 0; i < op->arity; i++)
        LAB__TRY(lab__broadcast_with(op->name, operands[i]->ndim,
                                     operands[i]->sizes, ndim, sizes));
    return LARDER_OK;
}

static lab_dtype dtype_for(const struct operation *op,
                           lab_tensor *const *operands)
{
    int first = op->result == CHOICE;
    lab_tensor so_far = *operands[first];

    if (op->result == BOOL)
        return LAB_BOOL;
    for (int i = first + 1; i < op->arity; i++) {
        lab_dtype both = lab__dtype_of_both(&so_far, operands[i]);

        if (operands[i]->ndim > so_far.ndim)
            so_far.ndim = operands[i]->ndim;
        so_far.dtype = both;
        so_far.kind = lab__kind_of(both);
    }
    if (op->result == FLOAT && so_far.kind != LAB_FLOAT32)
        return LAB_FLOAT32;
    return so_far.dtype;
}

static larder_result room(const struct operation *op,
                          lab_tensor *const *operands, lab_tensor **out)
{
    const lab_tensor *const *all = (const lab_tensor *const *)operands;
    int64_t sizes[LAB_MAX_DIMS];
    const lab_tensor *where;
    int ndim;

    LAB__TRY(lab__places_meet(op->name, op->arity, operands, &where));
    LAB__TRY(sizes_meet(op, operands, &ndim, sizes));
    LAB__TRY(lab__tensor_new(where->storage->session, dtype_for(op, operands),
                             where->storage->place, ndim, sizes, out));
    lab__lay_out(*out, op->arity, all);
    return LARDER_OK;
}

larder_result lab_raw_map(int op, lab_tensor *const *operands, double p,
                          double q, lab_tensor **out)
{
    const struct operation *what;

    LAB__TRY(op_get(op, &what));
    LAB__TRY(room(what, operands, out));
    map(what, *out, operands, p, q);
    return LARDER_OK;
}

static larder_result into_check(const struct operation *op,
                                lab_tensor *const *operands,
                                const lab_tensor *to)
{
    int64_t sizes[LAB_MAX_DIMS];
    int ndim;
    char want[LAB__SHAPE_TEXT], have[LAB__SHAPE_TEXT];

    LAB__TRY(lab__check_writable(op->name, to));
    LAB__TRY(sizes_meet(op, operands, &ndim, sizes));
    if (lab__fits(ndim, sizes, to))
        return LARDER_OK;
    return lab__invalid("%s in place: a result of sizes %s for a tensor of %s",
                        op->name, lab__shape_text(ndim, sizes, have),
                        lab__shape_text(to->ndim, to->sizes, want));
}

larder_result lab_raw_map_into(int op, lab_tensor *const *operands, double p,
                               double q, lab_tensor *to)
{
    const struct operation *what;
    const lab_tensor *where;

    LAB__TRY(op_get(op, &what));
    LAB__TRY(lab__places_meet(what->name, what->arity, operands, &where));
    LAB__TRY(into_check(what, operands, to));
    to->storage->version++;
    map(what, to, operands, p, q);
    return LARDER_OK;
}
