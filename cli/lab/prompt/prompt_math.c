/* prompt_math.c - Python's module math: functions of numbers, and of tensors
 * with one element, which Python accepts as numbers. */
#include <math.h>

#include "prompt_function.h"

typedef struct prompt_value value;

static bool read_real(struct prompt *p, const struct prompt_builtin *self,
                      value v, double *out)
{
    if (v.kind == VALUE_TENSOR)
        return prompt_check(p, lab_item(v.tensor, out));
    return prompt_read_number(p, v, self->name, out);
}

/* Where C returns NaN or an infinity Python raises an error. */
static bool result(struct prompt *p, double x, double y, value *out)
{
    if (isnan(y) && !isnan(x))
        return prompt_fail(p, "math domain error");
    if (isinf(y) && isfinite(x))
        return prompt_fail(p, "math range error");
    *out = prompt_float(y);
    return true;
}

static PROMPT_FUNCTION(math_real)
{
    double x;

    return read_real(p, self, args[0], &x) && result(p, x, self->real(x), out);
}

/* A logarithm of 0 is an error of its own. */
static PROMPT_FUNCTION(math_log)
{
    double x, base;

    if (!read_real(p, self, args[0], &x))
        return false;
    if (x <= 0)
        return prompt_fail(p, "math domain error");
    if (self->real != log || args[1].kind == VALUE_NONE)
        return result(p, x, self->real(x), out);
    if (!read_real(p, self, args[1], &base))
        return false;
    if (base <= 0)
        return prompt_fail(p, "math domain error");
    if (base == 1)
        return prompt_fail(p, "division by zero");
    return result(p, x, log(x) / log(base), out);
}

static PROMPT_FUNCTION(math_pow)
{
    double x, y;

    if (!read_real(p, self, args[0], &x) || !read_real(p, self, args[1], &y))
        return false;
    if (x == 0 && y < 0)
        return prompt_fail(p, "math domain error");
    return result(p, isfinite(x) && isfinite(y) ? 0 : NAN, pow(x, y), out);
}

/* Rounds to a whole number, as ceil and floor do in Python. */
static PROMPT_FUNCTION(math_round)
{
    double x;

    if (args[0].kind == VALUE_INT || args[0].kind == VALUE_BOOL) {
        *out = prompt_int(args[0].integer);
        return true;
    }
    if (!read_real(p, self, args[0], &x))
        return false;
    x = self->real(x);
    /* cppcheck-suppress incorrectLogicOperator; it misreads 0x1p63 */
    if (!(x >= -0x1p63 && x < 0x1p63))
        return prompt_fail(p, "%s(%g): whole numbers end at 2**63 - 1",
                           self->name, x);
    *out = prompt_int((int64_t)x);
    return true;
}

enum { IS_FINITE, IS_INF, IS_NAN };

static PROMPT_FUNCTION(math_is)
{
    double x;

    if (!read_real(p, self, args[0], &x))
        return false;
    if (self->number == IS_FINITE)
        *out = prompt_bool(isfinite(x));
    else
        *out = prompt_bool(self->number == IS_INF ? isinf(x) : isnan(x));
    return true;
}

/* Mostly of sizes: math.prod(x.shape). */
static PROMPT_FUNCTION(math_prod)
{
    value product = prompt_int(1);

    (void)self;
    if (!prompt_is_sequence(args[0]))
        return prompt_fail(p, "prod takes a list or tuple, not %s",
                           prompt_value_what(args[0]));
    for (size_t i = 0; i < args[0].object->count; i++) {
        value item = args[0].object->items[i];

        if (!prompt_is_number(item))
            return prompt_fail(p, "prod takes numbers, not %s",
                               prompt_value_what(item));
        if (!prompt_operate(p, "*", product, item, &product))
            return false;
    }
    *out = product;
    return true;
}

#define REAL(name, parameters, text, function, of)                             \
    PROMPT_ROW(OWNER_MATH, name, parameters, text, function, real, of)
#define NUMBER(name, parameters, text, function, which)                        \
    PROMPT_ROW(OWNER_MATH, name, parameters, text, function, number, which)

const struct prompt_builtin prompt_math_table[] = {
    REAL("sqrt", "x", "the square root of a number", math_real, sqrt),
    REAL("exp", "x", "e to the power of a number", math_real, exp),
    REAL("log", "x, base=None", "the logarithm of a number, natural or to base",
         math_log, log),
    REAL("log2", "x", "the logarithm to base 2", math_log, log2),
    REAL("log10", "x", "the logarithm to base 10", math_log, log10),
    REAL("sin", "x", "sine", math_real, sin),
    REAL("cos", "x", "cosine", math_real, cos),
    REAL("tan", "x", "tangent", math_real, tan),
    REAL("tanh", "x", "hyperbolic tangent", math_real, tanh),
    REAL("fabs", "x", "the absolute value, as a float", math_real, fabs),
    REAL("ceil", "x", "the least whole number that is not below", math_round,
         ceil),
    REAL("floor", "x", "the greatest whole number that is not above",
         math_round, floor),
    NUMBER("pow", "x, y", "x to the power of y, as a float", math_pow, 0),
    NUMBER("prod", "values", "the product of a list or tuple", math_prod, 0),
    NUMBER("isfinite", "x", "neither an infinity nor nan", math_is, IS_FINITE),
    NUMBER("isinf", "x", "an infinity", math_is, IS_INF),
    NUMBER("isnan", "x", "not a number", math_is, IS_NAN),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};
