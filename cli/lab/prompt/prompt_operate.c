/* prompt_operate.c - operators on numbers, strings, lists and tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

typedef struct prompt_value value;

static bool is_op(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool fail_operands(struct prompt *p, const char *op, value a, value b)
{
    return prompt_fail(p, "'%s' cannot work on %s and %s", op,
                       prompt_value_what(a), prompt_value_what(b));
}

/* ---- numbers --------------------------------------------------------------------------- */

static bool fail_range(struct prompt *p)
{
    return prompt_fail(p, "whole numbers end at 2**63 - 1");
}

static bool power(struct prompt *p, int64_t base, int64_t exponent, value *out)
{
    int64_t result = 1;

    if (exponent < 0) {
        if (base == 0)
            return prompt_fail(p, "division by zero");
        *out = prompt_float(pow((double)base, (double)exponent));
        return true;
    }
    /* With more than 64 factors only 0, 1 and -1 stay in range. */
    if (exponent > 64 && base >= -1 && base <= 1)
        exponent = 2 + exponent % 2;
    for (int64_t i = 0; i < exponent; i++) {
        if (__builtin_mul_overflow(result, base, &result))
            return fail_range(p);
    }
    *out = prompt_int(result);
    return true;
}

/* Rounds down, as Python does. */
static bool divide_whole(struct prompt *p, bool remainder, int64_t a, int64_t b,
                         value *out)
{
    int64_t q, r;

    if (b == 0)
        return prompt_fail(p, "division by zero");
    if (a == INT64_MIN && b == -1)
        return remainder ? (*out = prompt_int(0), true) : fail_range(p);
    q = a / b;
    r = a % b;
    if (r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    *out = prompt_int(remainder ? r : q);
    return true;
}

static bool whole_numbers(struct prompt *p, const char *op, int64_t a,
                          int64_t b, value *out)
{
    int64_t n = 0;
    bool beyond;

    if (is_op(op, "+"))
        beyond = __builtin_add_overflow(a, b, &n);
    else if (is_op(op, "-"))
        beyond = __builtin_sub_overflow(a, b, &n);
    else if (is_op(op, "*"))
        beyond = __builtin_mul_overflow(a, b, &n);
    else if (is_op(op, "**"))
        return power(p, a, b, out);
    else
        return divide_whole(p, is_op(op, "%"), a, b, out);
    *out = prompt_int(n);
    return !beyond || fail_range(p);
}

static bool real_numbers(struct prompt *p, const char *op, double a, double b,
                         value *out)
{
    double x;

    if ((is_op(op, "/") || is_op(op, "//") || is_op(op, "%")) && b == 0)
        return prompt_fail(p, "division by zero");
    if (is_op(op, "+"))
        x = a + b;
    else if (is_op(op, "-"))
        x = a - b;
    else if (is_op(op, "*"))
        x = a * b;
    else if (is_op(op, "/"))
        x = a / b;
    else if (is_op(op, "//"))
        x = floor(a / b);
    else if (is_op(op, "%"))
        x = a - b * floor(a / b);
    else
        x = pow(a, b);
    *out = prompt_float(x);
    return true;
}

static bool numbers(struct prompt *p, const char *op, value a, value b,
                    value *out)
{
    if (is_op(op, "@"))
        return fail_operands(p, op, a, b);
    if (a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT && !is_op(op, "/"))
        return whole_numbers(p, op, a.integer, b.integer, out);
    return real_numbers(p, op, prompt_number(a), prompt_number(b), out);
}

/* ---- sequences -------------------------------------------------------------------------- */

static bool add_items(struct prompt *p, struct prompt_object *to,
                      const struct prompt_object *from)
{
    size_t count = from->count; /* `to` may be `from` */

    for (size_t i = 0; i < count; i++) {
        value item = prompt_value_ref(from->items[i]);

        if (!prompt_sequence_add(to, item)) {
            prompt_value_drop(&item);
            return prompt_fail_memory(p);
        }
    }
    return true;
}

static bool join(struct prompt *p, value a, value b, value *out)
{
    value both;

    if (p->elements_max > 0 &&
        a.object->count + b.object->count > (size_t)p->elements_max)
        return prompt_fail(p, "more than %lld items",
                           (long long)p->elements_max);
    if (!prompt_sequence(a.kind, &both))
        return prompt_fail_memory(p);
    if (!add_items(p, both.object, a.object) ||
        !add_items(p, both.object, b.object)) {
        prompt_value_drop(&both);
        return false;
    }
    *out = both;
    return true;
}

static bool join_strings(struct prompt *p, value a, value b, value *out)
{
    struct prompt_text text = {0};
    bool ok;

    prompt_value_write(a, false, &text);
    prompt_value_write(b, false, &text);
    ok = !text.full && prompt_string(prompt_text_of(&text), text.length, out);
    prompt_text_free(&text);
    return ok || prompt_fail_memory(p);
}

/* ---- tensors ----------------------------------------------------------------------------- */

static bool two_tensors(struct prompt *p, const char *op, lab_tensor *a,
                        lab_tensor *b, value *out)
{
    lab_tensor *made = NULL;
    larder_result r;

    if (is_op(op, "+"))
        r = lab_add(a, b, &made);
    else if (is_op(op, "-"))
        r = lab_sub(a, b, &made);
    else if (is_op(op, "*"))
        r = lab_mul(a, b, &made);
    else if (is_op(op, "/"))
        r = lab_div(a, b, &made);
    else if (is_op(op, "@"))
        r = lab_matmul(a, b, &made);
    else
        return prompt_fail(p, "'%s' is not there for two tensors", op);
    return prompt_made(p, r, &made, out);
}

static bool tensor_and_number(struct prompt *p, const char *op, lab_tensor *a,
                              double b, value *out)
{
    lab_tensor *made = NULL;
    larder_result r;

    if (is_op(op, "+"))
        r = lab_add_scalar(a, b, &made);
    else if (is_op(op, "-"))
        r = lab_sub_scalar(a, b, &made);
    else if (is_op(op, "*"))
        r = lab_mul_scalar(a, b, &made);
    else if (is_op(op, "/"))
        r = lab_div_scalar(a, b, &made);
    else if (is_op(op, "**"))
        r = lab_pow_scalar(a, b, &made);
    else
        return prompt_fail(p, "'%s' is not there for tensors", op);
    return prompt_made(p, r, &made, out);
}

static bool number_and_tensor(struct prompt *p, const char *op, double a,
                              lab_tensor *b, value *out)
{
    lab_tensor *made = NULL;

    if (is_op(op, "-"))
        return prompt_made(p, lab_rsub_scalar(a, b, &made), &made, out);
    if (is_op(op, "/"))
        return prompt_made(p, lab_rdiv_scalar(a, b, &made), &made, out);
    if (is_op(op, "**"))
        return prompt_fail(p, "a number to the power of a tensor is not "
                              "there");
    return tensor_and_number(p, op, b, a, out);
}

bool prompt_operate(struct prompt *p, const char *op, value a, value b,
                    value *out)
{
    if (a.kind == VALUE_TENSOR && b.kind == VALUE_TENSOR)
        return two_tensors(p, op, a.tensor, b.tensor, out);
    if (a.kind == VALUE_TENSOR && prompt_is_number(b))
        return tensor_and_number(p, op, a.tensor, prompt_number(b), out);
    if (prompt_is_number(a) && b.kind == VALUE_TENSOR)
        return number_and_tensor(p, op, prompt_number(a), b.tensor, out);
    if (prompt_is_number(a) && prompt_is_number(b))
        return numbers(p, op, a, b, out);
    if (is_op(op, "+") && a.kind == b.kind && prompt_is_sequence(a))
        return join(p, a, b, out);
    if (is_op(op, "+") && a.kind == VALUE_STRING && b.kind == VALUE_STRING)
        return join_strings(p, a, b, out);
    return fail_operands(p, op, a, b);
}

/* ---- in place -------------------------------------------------------------------------------- */

static bool change_by_tensor(struct prompt *p, const char *op, lab_tensor *a,
                             lab_tensor *b)
{
    if (is_op(op, "+") || is_op(op, "-"))
        return prompt_check(p, lab_add_inplace(a, b, is_op(op, "+") ? 1 : -1));
    if (is_op(op, "*"))
        return prompt_check(p, lab_mul_inplace(a, b));
    if (is_op(op, "/"))
        return prompt_check(p, lab_div_inplace(a, b));
    return prompt_fail(p, "'%s=' is not there for tensors", op);
}

static bool change_by_number(struct prompt *p, const char *op, lab_tensor *a,
                             double b)
{
    if (is_op(op, "+") || is_op(op, "-"))
        return prompt_check(p,
                            lab_add_scalar_inplace(a, is_op(op, "+") ? b : -b));
    if (is_op(op, "*"))
        return prompt_check(p, lab_mul_scalar_inplace(a, b));
    if (is_op(op, "/"))
        return prompt_check(p, lab_mul_scalar_inplace(a, 1 / b));
    return prompt_fail(p, "'%s=' is not there for tensors", op);
}

bool prompt_operate_in_place(struct prompt *p, const char *op, value a, value b,
                             value *out)
{
    bool ok;

    if (a.kind == VALUE_TENSOR && b.kind == VALUE_TENSOR && !is_op(op, "@"))
        ok = change_by_tensor(p, op, a.tensor, b.tensor);
    else if (a.kind == VALUE_TENSOR && prompt_is_number(b) && !is_op(op, "**"))
        ok = change_by_number(p, op, a.tensor, prompt_number(b));
    else
        return prompt_operate(p, op, a, b, out);
    if (ok)
        *out = prompt_value_ref(a);
    return ok;
}

/* ---- comparing -------------------------------------------------------------------------------- */

static bool same_object(value a, value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == VALUE_FLOAT)
        return a.real == b.real;
    if (a.kind == VALUE_TENSOR)
        return a.tensor == b.tensor;
    if (a.kind == VALUE_FUNCTION)
        return a.builtin == b.builtin;
    if (a.kind == VALUE_MODULE)
        return a.module == b.module;
    if (a.kind >= VALUE_STRING)
        return a.object == b.object;
    return a.integer == b.integer;
}

static bool order(const char *op, double a, double b)
{
    if (is_op(op, "=="))
        return a == b;
    if (is_op(op, "!="))
        return a != b;
    if (is_op(op, "<"))
        return a < b;
    if (is_op(op, "<="))
        return a <= b;
    return is_op(op, ">") ? a > b : a >= b;
}

bool prompt_compare(struct prompt *p, const char *op, value a, value b,
                    value *out)
{
    lab_tensor *made = NULL;

    if (is_op(op, "is") || is_op(op, "!is")) {
        *out = prompt_bool(same_object(a, b) == is_op(op, "is"));
        return true;
    }
    if (a.kind == VALUE_TENSOR && b.kind == VALUE_TENSOR && is_op(op, "=="))
        return prompt_made(p, lab_eq(a.tensor, b.tensor, &made), &made, out);
    if (prompt_is_number(a) && prompt_is_number(b)) {
        bool whole = a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT;
        double x =
            whole ? (double)((a.integer > b.integer) - (a.integer < b.integer))
                  : prompt_number(a);

        *out = prompt_bool(order(op, x, whole ? 0 : prompt_number(b)));
        return true;
    }
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        *out = prompt_bool(
            order(op, (double)strcmp(a.object->text, b.object->text), 0));
        return true;
    }
    if (!is_op(op, "==") && !is_op(op, "!="))
        return fail_operands(p, op, a, b);
    *out = prompt_bool(same_object(a, b) == is_op(op, "=="));
    return true;
}
