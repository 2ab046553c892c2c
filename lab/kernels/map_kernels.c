/* map_kernels.c - element-wise operations on operands of any kinds, each a
 * function of one element. */
#include "kernels/map_kernels.h"

#include <math.h>
#include <string.h>

#include "tensor/narrow.h"
#include "tensor/numbers.h"
#include "tensor/odometer.h"

/* Whole numbers are converted to double, exact below 2^53; bitwise operations
 * are not. */

static const double ROOT_2_BY_PI = 0.79788456080286535588;
static const double CUBIC = 0.044715;

/* ---- one operand -------------------------------------------------------- */

#define ONE(name, result)                                                      \
    static double name##_one(double x, double p, double q)                     \
    {                                                                          \
        (void)p;                                                               \
        (void)q;                                                               \
        return (result);                                                       \
    }

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

ONE(abs, fabs(x))
ONE(sign, sign_of(x))
ONE(floor, floor(x))
ONE(ceil, ceil(x))
ONE(round, rint(x))
ONE(trunc, trunc(x))
ONE(sin, sin(x))
ONE(cos, cos(x))
ONE(tan, tan(x))
ONE(asin, asin(x))
ONE(acos, acos(x))
ONE(atan, atan(x))
ONE(sinh, sinh(x))
ONE(cosh, cosh(x))
ONE(erf, erf(x))
ONE(exp2, exp2(x))
ONE(expm1, expm1(x))
ONE(log1p, log1p(x))
ONE(log2, log2(x))
ONE(log10, log10(x))
ONE(rsqrt, 1 / sqrt(x))
ONE(reciprocal, 1 / x)
ONE(clamp, clamped(x, p, q))
ONE(silu, x *sigmoid(x))
ONE(mish, x *tanh(softplus(x, 1, 20)))
ONE(softplus, softplus(x, p, q))
ONE(leaky_relu, x > 0 ? x : x * p)
ONE(elu, x > 0 ? x : p * expm1(x))
ONE(hardswish, x *clamped(x + 3, 0, 6) / 6)
ONE(hardsigmoid, clamped(x + 3, 0, 6) / 6)
ONE(logsigmoid, log_sigmoid(x))
ONE(threshold, x > p ? x : q)
ONE(gelu_tanh, 0.5 * x * (1 + tanh(ROOT_2_BY_PI * (x + CUBIC * x * x * x))))
ONE(logical_not, x == 0)
ONE(bitwise_not, -1 - x)
ONE(isnan, isnan(x))
ONE(isinf, isinf(x))
ONE(isfinite, isfinite(x))
ONE(rpow, pow(p, x))
ONE(below, x < p)

/* ---- two operands ------------------------------------------------------- */

#define TWO(name, result)                                                      \
    static double name##_two(double x, double y, double p, double q)           \
    {                                                                          \
        (void)p;                                                               \
        (void)q;                                                               \
        return (result);                                                       \
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

TWO(lt, x < y)
TWO(le, x <= y)
TWO(gt, x > y)
TWO(ge, x >= y)
TWO(eq, x == y)
TWO(ne, x != y)
TWO(logical_and, x != 0 && y != 0)
TWO(logical_or, x != 0 || y != 0)
TWO(logical_xor, (x != 0) != (y != 0))
TWO(bitwise_and, (double)(bits_of(x) & bits_of(y)))
TWO(bitwise_or, (double)(bits_of(x) | bits_of(y)))
TWO(bitwise_xor, (double)(bits_of(x) ^ bits_of(y)))
TWO(maximum, isnan(x) || x > y ? x : y)
TWO(minimum, isnan(x) || x < y ? x : y)
TWO(atan2, atan2(x, y))
TWO(fmod, fmod(x, y))
TWO(remainder, remainder_of(x, y))
TWO(floor_divide, floor(x / y))
TWO(pow, pow(x, y))
TWO(masked_fill, y != 0 ? p : x)
TWO(silu_backward, x *silu_slope(y))
TWO(mish_backward, x *mish_slope(y))
TWO(softplus_backward, y *p > q ? x : x * sigmoid(y * p))
TWO(leaky_relu_backward, y > 0 ? x : x * p)
TWO(elu_backward, y > 0 ? x : x * p * exp(y))
TWO(clamp_backward, y >= p && y <= q ? x : 0)
TWO(hardswish_backward, x *hardswish_slope(y))
TWO(hardsigmoid_backward, y > -3 && y < 3 ? x / 6 : 0)
TWO(logsigmoid_backward, x *sigmoid(-y))
TWO(threshold_backward, y > p ? x : 0)
TWO(gelu_tanh_backward, x *gelu_tanh_slope(y))
TWO(smooth_l1, smooth_l1(x - y, p))
TWO(huber, huber(x - y, p))
TWO(l1, fabs(x - y))
TWO(bce, -(y *bounded_log(x) + (1 - y) * bounded_log(1 - x)))

/* ---- three operands ----------------------------------------------------- */

#define THREE(name, result)                                                    \
    static double name##_three(double x, double y, double z, double p,         \
                               double q)                                       \
    {                                                                          \
        (void)p;                                                               \
        (void)q;                                                               \
        return (result);                                                       \
    }

THREE(where, x != 0 ? y : z)
THREE(lerp, x + z * (y - x))
THREE(addcmul, x + p * y * z)
THREE(addcdiv, x + p * y / z)
/* x: the gradient, y and z: the input and the target */
THREE(smooth_l1_backward, x *clamped((y - z) / p, -1, 1))
THREE(huber_backward, x *clamped(y - z, -p, p))
THREE(l1_backward, x *sign_of(y - z))
THREE(bce_backward, x *(y - z) / fmax((1 - y) * y, 1e-12))
/* y: the divisor of a norm; z: the norm; p: its order */
THREE(norm_backward, z == 0 ? 0 : x * sign_of(y) * pow(fabs(y) / z, p - 1))

/* ---- the table ---------------------------------------------------------- */

#define ONE_OP(name, result) {#name, 1, result, name##_one, NULL, NULL, false},
#define TWO_OP(name, result) {#name, 2, result, NULL, name##_two, NULL, false},
#define THREE_OP(name, result, skips)                                          \
    {#name, 3, result, NULL, NULL, name##_three, skips},

static const struct lab__map_op ops[] = {
    ONE_OP(abs, LAB__MAP_SAME) ONE_OP(sign, LAB__MAP_SAME) ONE_OP(
        floor, LAB__MAP_SAME) ONE_OP(ceil, LAB__MAP_SAME)
        ONE_OP(round, LAB__MAP_SAME) ONE_OP(trunc, LAB__MAP_SAME) ONE_OP(
            sin, LAB__MAP_FLOAT) ONE_OP(cos, LAB__MAP_FLOAT)
            ONE_OP(tan, LAB__MAP_FLOAT) ONE_OP(asin, LAB__MAP_FLOAT) ONE_OP(
                acos, LAB__MAP_FLOAT) ONE_OP(atan, LAB__MAP_FLOAT)
                ONE_OP(sinh, LAB__MAP_FLOAT) ONE_OP(cosh, LAB__MAP_FLOAT)
                    ONE_OP(erf, LAB__MAP_FLOAT) ONE_OP(exp2, LAB__MAP_FLOAT)
                        ONE_OP(expm1, LAB__MAP_FLOAT) ONE_OP(
                            log1p, LAB__MAP_FLOAT) ONE_OP(log2, LAB__MAP_FLOAT)
                            ONE_OP(log10, LAB__MAP_FLOAT) ONE_OP(rsqrt,
                                                                 LAB__MAP_FLOAT)
                                ONE_OP(reciprocal, LAB__MAP_FLOAT)
                                    ONE_OP(clamp, LAB__MAP_SAME)
                                        ONE_OP(silu, LAB__MAP_FLOAT)
                                            ONE_OP(mish, LAB__MAP_FLOAT) ONE_OP(
                                                softplus,
                                                LAB__MAP_FLOAT) ONE_OP(leaky_relu, LAB__MAP_FLOAT) ONE_OP(elu, LAB__MAP_FLOAT) ONE_OP(hardswish, LAB__MAP_FLOAT) ONE_OP(hardsigmoid, LAB__MAP_FLOAT) ONE_OP(logsigmoid, LAB__MAP_FLOAT) ONE_OP(threshold, LAB__MAP_SAME) ONE_OP(gelu_tanh, LAB__MAP_FLOAT) ONE_OP(logical_not,
                                                                                                                                                                                                                                                                                                                  LAB__MAP_BOOL) ONE_OP(bitwise_not,
                                                                                                                                                                                                                                                                                                                                        LAB__MAP_SAME) ONE_OP(isnan,
                                                                                                                                                                                                                                                                                                                                                              LAB__MAP_BOOL) ONE_OP(isinf,
                                                                                                                                                                                                                                                                                                                                                                                    LAB__MAP_BOOL) ONE_OP(isfinite,
                                                                                                                                                                                                                                                                                                                                                                                                          LAB__MAP_BOOL) ONE_OP(rpow,
                                                                                                                                                                                                                                                                                                                                                                                                                                LAB__MAP_SAME) ONE_OP(below,
                                                                                                                                                                                                                                                                                                                                                                                                                                                      LAB__MAP_BOOL) TWO_OP(lt,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                            LAB__MAP_BOOL) TWO_OP(le,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  LAB__MAP_BOOL) TWO_OP(gt,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        LAB__MAP_BOOL) TWO_OP(ge, LAB__MAP_BOOL) TWO_OP(eq, LAB__MAP_BOOL) TWO_OP(ne, LAB__MAP_BOOL) TWO_OP(logical_and, LAB__MAP_BOOL) TWO_OP(logical_or, LAB__MAP_BOOL) TWO_OP(logical_xor, LAB__MAP_BOOL) TWO_OP(bitwise_and, LAB__MAP_SAME) TWO_OP(bitwise_or, LAB__MAP_SAME) TWO_OP(bitwise_xor,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         LAB__MAP_SAME) TWO_OP(maximum,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               LAB__MAP_SAME) TWO_OP(minimum, LAB__MAP_SAME) TWO_OP(atan2,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    LAB__MAP_FLOAT)
                                                TWO_OP(
                                                    fmod,
                                                    LAB__MAP_SAME) TWO_OP(remainder, LAB__MAP_SAME)
                                                    TWO_OP(
                                                        floor_divide,
                                                        LAB__MAP_SAME) TWO_OP(pow, LAB__MAP_SAME)
                                                        TWO_OP(masked_fill, LAB__MAP_SAME) TWO_OP(silu_backward, LAB__MAP_SAME) TWO_OP(
                                                            mish_backward,
                                                            LAB__MAP_SAME) TWO_OP(softplus_backward,
                                                                                  LAB__MAP_SAME)
                                                            TWO_OP(leaky_relu_backward, LAB__MAP_SAME) TWO_OP(
                                                                elu_backward,
                                                                LAB__MAP_SAME) TWO_OP(clamp_backward,
                                                                                      LAB__MAP_SAME)
                                                                TWO_OP(hardswish_backward, LAB__MAP_SAME) TWO_OP(
                                                                    hardsigmoid_backward,
                                                                    LAB__MAP_SAME) TWO_OP(logsigmoid_backward,
                                                                                          LAB__MAP_SAME)
                                                                    TWO_OP(threshold_backward, LAB__MAP_SAME) TWO_OP(
                                                                        gelu_tanh_backward,
                                                                        LAB__MAP_SAME) TWO_OP(smooth_l1,
                                                                                              LAB__MAP_FLOAT)
                                                                        TWO_OP(huber, LAB__MAP_FLOAT) TWO_OP(
                                                                            l1,
                                                                            LAB__MAP_FLOAT) TWO_OP(bce, LAB__MAP_FLOAT)
                                                                            THREE_OP(
                                                                                where,
                                                                                LAB__MAP_SAME,
                                                                                true) THREE_OP(lerp,
                                                                                               LAB__MAP_SAME,
                                                                                               false)
                                                                                THREE_OP(
                                                                                    addcmul,
                                                                                    LAB__MAP_SAME,
                                                                                    false) THREE_OP(addcdiv,
                                                                                                    LAB__MAP_SAME,
                                                                                                    false)
                                                                                    THREE_OP(
                                                                                        smooth_l1_backward,
                                                                                        LAB__MAP_SAME,
                                                                                        false) THREE_OP(huber_backward,
                                                                                                        LAB__MAP_SAME,
                                                                                                        false)
                                                                                        THREE_OP(
                                                                                            l1_backward,
                                                                                            LAB__MAP_SAME,
                                                                                            false)
                                                                                            THREE_OP(
                                                                                                bce_backward,
                                                                                                LAB__MAP_SAME,
                                                                                                false)
                                                                                                THREE_OP(
                                                                                                    norm_backward,
                                                                                                    LAB__MAP_SAME,
                                                                                                    false)};

enum { OPS = sizeof ops / sizeof ops[0] };

const struct lab__map_op *lab__map_op_get(int op)
{
    return op >= 0 && op < OPS ? &ops[op] : NULL;
}

int lab__map_op_find(const char *name)
{
    for (int i = 0; i < OPS; i++) {
        if (strcmp(ops[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* ---- running ------------------------------------------------------------ */

struct run {
    const struct lab__map_op *op;
    double p, q;
    unsigned char kind[4]; /* of the result and of the operands */
};

static inline double load(const char *at, unsigned char kind)
{
    if (kind == LAB_FLOAT32)
        return (double)*(const float *)(const void *)at;
    if (kind == LAB_INT64)
        return (double)*(const int64_t *)(const void *)at;
    return *(const unsigned char *)at != 0;
}

static inline void store(char *at, unsigned char kind, double x)
{
    if (kind == LAB_FLOAT32)
        *(float *)(void *)at = (float)x;
    else if (kind == LAB_INT64)
        *(int64_t *)(void *)at = lab__to_int64(x);
    else
        *(unsigned char *)at = x != 0;
}

static double result_of(const struct run *run, const double x[3])
{
    const struct lab__map_op *op = run->op;

    if (op->arity == 1)
        return op->one(x[0], run->p, run->q);
    if (op->arity == 2)
        return op->two(x[0], x[1], run->p, run->q);
    return op->three(x[0], x[1], x[2], run->p, run->q);
}

static int64_t step_bytes(const struct run *run, const int64_t *step, int k)
{
    return step[k] * (int64_t)lab__dtype_bytes((lab_dtype)run->kind[k]);
}

static void map_row(const void *context, int64_t n, char *const *at,
                    const int64_t *step)
{
    const struct run *run = context;
    int count = run->op->arity;
    int64_t result_step = step_bytes(run, step, 0);
    int64_t steps[3];

    for (int k = 0; k < count; k++)
        steps[k] = step_bytes(run, step, k + 1);
    for (int64_t i = 0; i < n; i++) {
        double x[3] = {0};

        for (int k = 0; k < count; k++)
            x[k] = load(at[k + 1] + i * steps[k], run->kind[k + 1]);
        store(at[0] + i * result_step, run->kind[0], result_of(run, x));
    }
}

void lab__map(const struct lab__map_op *op, lab_tensor *out,
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
