/* losses.c - loss functions. */
#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"
#include "ops/nn_common.h"

/* ---- negative log-likelihood ---------------------------------------------- */

/* Rows of this class do not count: PyTorch's default. */
static const int64_t ignored = -100;

enum { LOGP, TARGET, TOTAL }; /* saved */

static larder_result nll_saved(struct lab__node *node, lab_tensor *saved[3])
{
    larder_result r = LARDER_OK;

    for (unsigned i = 0; i < 3 && r == LARDER_OK; i++)
        r = lab__node_saved(node, i, &saved[i]);
    return r;
}

static larder_result nll_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    lab_tensor *saved[3], *target, *made;
    larder_result r = nll_saved(node, saved);

    if (r == LARDER_OK)
        r = lab__nn_dense(saved[TARGET], &target);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(saved[LOGP], &made);
    if (r == LARDER_OK) {
        r = lab__fill(made, 0);
        lab__nll_backward(made, grads[0], target, saved[TOTAL], ignored);
        results[0] = made;
    }
    lab_unref(target);
    return r;
}

static const struct lab__node_kind nll_kind = {.name = "NllLossBackward0",
                                               .backward = nll_backward};

static larder_result nll_record(lab_tensor *logp, lab_tensor *target,
                                lab_tensor *total, lab_tensor *result)
{
    lab_tensor *const saved[3] = {logp, target, total};

    return lab__record_saving(&nll_kind, 1, &logp, result, 3, saved);
}

/* `classes` is the contiguous target. */
static larder_result nll(lab_tensor *logp, lab_tensor *target,
                         lab_tensor *classes, lab_tensor **out)
{
    lab_tensor *made = NULL, *total = NULL;
    larder_result r = lab__tensor_of(logp, 0, NULL, &made);

    if (r == LARDER_OK)
        r = lab__tensor_of(logp, 0, NULL, &total);
    if (r == LARDER_OK) {
        lab__nll_forward(made, total, logp, classes, ignored);
        r = nll_record(logp, target, total, made);
    }
    lab_unref(total);
    return lab__done(r, made, out);
}

/* ---- cross-entropy -------------------------------------------------------- */

static larder_result shapes_check(const lab_tensor *logits,
                                  const lab_tensor *target)
{
    larder_result r = lab__check_float("cross_entropy", logits);

    if (r == LARDER_OK)
        r = lab__nn_check_index("cross_entropy", target);
    if (r == LARDER_OK)
        r = lab__check_place("cross_entropy", logits, target);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("cross_entropy", "logits", logits, 2);
    if (r == LARDER_OK)
        r = lab__nn_check_ndim("cross_entropy", "the target", target, 1);
    if (r == LARDER_OK && logits->sizes[0] != target->sizes[0])
        r = lab__fail(LARDER_ERR_INVALID,
                      "cross_entropy: %lld rows of logits, %lld classes",
                      (long long)logits->sizes[0], (long long)target->sizes[0]);
    return r;
}

static larder_result classes_check(const lab_tensor *logits,
                                   const lab_tensor *classes)
{
    int64_t value;

    if (!lab__index_outside(classes, logits->sizes[1], &ignored, &value))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_INVALID,
                     "cross_entropy: class %lld is not in [0, %lld)",
                     (long long)value, (long long)logits->sizes[1]);
}

larder_result lab_cross_entropy(lab_tensor *logits, lab_tensor *target,
                                lab_tensor **out)
{
    lab_tensor *classes = NULL, *logp = NULL;
    larder_result r = shapes_check(logits, target);

    if (r == LARDER_OK)
        r = lab__nn_dense(target, &classes);
    if (r == LARDER_OK)
        r = classes_check(logits, classes);
    if (r == LARDER_OK)
        r = lab_log_softmax(logits, 1, &logp);
    if (r == LARDER_OK)
        r = nll(logp, target, classes, out);
    lab_unref(logp);
    lab_unref(classes);
    return r;
}

/* ---- mean squared error --------------------------------------------------- */

/* out = factor · (a - b) · grad */
static void mse_gradient(lab_tensor *out, const lab_tensor *a,
                         const lab_tensor *b, const lab_tensor *grad,
                         double factor)
{
    lab__binary(LAB__SUB, out, a, b, 1);
    lab__scalar(LAB__MUL, out, out, factor);
    lab__binary(LAB__MUL, out, out, grad, 1);
}

static larder_result mse_backward(struct lab__node *node, lab_tensor **grads,
                                  lab_tensor **results)
{
    lab_tensor *saved[2];
    larder_result r = lab__node_saved(node, 0, &saved[0]);

    if (r == LARDER_OK)
        r = lab__node_saved(node, 1, &saved[1]);
    for (unsigned i = 0; i < 2 && r == LARDER_OK; i++) {
        const lab_tensor *of = saved[i], *other = saved[1 - i];

        if (!lab__node_wants(node, i))
            continue;
        r = lab__tensor_like(of, &results[i]);
        if (r == LARDER_OK)
            mse_gradient(results[i], of, other, grads[0],
                         2.0 / (double)lab_numel(of));
    }
    return r;
}

static const struct lab__node_kind mse_kind = {.name = "MseLossBackward0",
                                               .backward = mse_backward};

/* PyTorch's result is a window of one element on memory allocated for all of
 * them: it is shrunk in place, which frees nothing. */
static larder_result mse_result_make(const lab_tensor *a, lab_tensor **out)
{
    int64_t none = 0;
    lab_tensor *whole;
    larder_result r;

    if (lab_numel(a) == 0)
        return lab__tensor_of(a, 0, NULL, out);
    r = lab__tensor_like(a, &whole);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_window(whole, 0, &none, &none, 0, out);
    lab_unref(whole);
    return r;
}

static larder_result mse(lab_tensor *const inputs[2], lab_tensor **out)
{
    lab_tensor *made = NULL, *squares = NULL;
    larder_result r = mse_result_make(inputs[0], &made);

    if (r == LARDER_OK)
        r = lab__tensor_like(inputs[0], &squares);
    if (r == LARDER_OK) {
        lab__binary(LAB__SUB, squares, inputs[0], inputs[1], 1);
        lab__binary(LAB__MUL, squares, squares, squares, 1);
        lab__sum_dims(made, squares, (1U << squares->ndim) - 1,
                      1.0 / (double)lab_numel(squares));
    }
    lab_unref(squares);
    if (r == LARDER_OK)
        r = lab__record_saving(&mse_kind, 2, inputs, made, 2, inputs);
    return lab__done(r, made, out);
}

/* Expand both to their common sizes; references. */
static larder_result mse_expand(lab_tensor *a, lab_tensor *b,
                                lab_tensor *inputs[2])
{
    lab_tensor *const given[2] = {a, b};
    int64_t sizes[LAB_MAX_DIMS];
    int ndim;
    larder_result r = lab__broadcast("mse_loss", a, b, &ndim, sizes);

    for (int i = 0; i < 2 && r == LARDER_OK; i++) {
        if (lab__same_sizes(a, b))
            inputs[i] = lab_ref(given[i]);
        else
            r = lab_expand(given[i], ndim, sizes, &inputs[i]);
    }
    return r;
}

larder_result lab_mse_loss(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    lab_tensor *inputs[2] = {NULL, NULL};
    larder_result r = lab__check_float("mse_loss", a);

    if (r == LARDER_OK)
        r = lab__check_float("mse_loss", b);
    if (r == LARDER_OK)
        r = lab__check_place("mse_loss", a, b);
    if (r == LARDER_OK)
        r = mse_expand(a, b, inputs);
    if (r == LARDER_OK)
        r = mse(inputs, out);
    lab_unref(inputs[0]);
    lab_unref(inputs[1]);
    return r;
}
