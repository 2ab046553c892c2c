/* losses.c - loss functions. */
#include "ops/op.h"

/* ---- negative log-likelihood ---------------------------------------------- */

/* Rows of this class do not count: PyTorch's default. */
static const int64_t ignored = -100;

enum { LOGP, TARGET, TOTAL }; /* saved */

/* out, zeros before: -grad / total at each row's class. */
static void nll_spread(lab_tensor *out, const lab_tensor *grad,
                       const lab_tensor *target, const lab_tensor *total)
{
    int64_t rows = out->sizes[0], classes = out->sizes[1];
    const int64_t *class;
    float *to, value;

    if (!LAB__READABLE(out, grad, target, total))
        return;
    class = lab__data(target);
    to = lab__floats(out);
    value = -*lab__floats(grad) / *lab__floats(total);
    for (int64_t i = 0; i < rows; i++) {
        if (class[i] != ignored)
            to[i * classes + class[i]] = value;
    }
}

static larder_result nll_back(const struct lab__back *b)
{
    LAB__OWNED lab_tensor *made = NULL, *target = NULL;

    LAB__TRY(lab__nn_dense(lab__saved(b, TARGET), &target));
    LAB__TRY(lab__tensor_like(lab__saved(b, LOGP), &made));
    LAB__TRY(lab__fill(made, 0));
    nll_spread(made, b->grads[0], target, lab__saved(b, TOTAL));
    return lab__give(&made, &b->results[0]);
}

/* out: minus the mean of each row's log-probability of its class; total: the
 * number of rows that count. */
static void nll_sum(lab_tensor *out, lab_tensor *total, const lab_tensor *logp,
                    const lab_tensor *target)
{
    int64_t rows = logp->sizes[0], classes = logp->sizes[1], counted = 0;
    const int64_t *class;
    const float *in;
    double sum = 0;

    if (!LAB__READABLE(out, total, logp, target))
        return;
    class = lab__data(target);
    in = lab__floats(logp);
    for (int64_t i = 0; i < rows; i++) {
        if (class[i] == ignored)
            continue;
        sum -= in[i * classes + class[i]];
        counted++;
    }
    *lab__floats(total) = (float)counted;
    *lab__floats(out) = (float)(sum / (double)counted);
}

/* `classes` is the contiguous target. */
static larder_result nll(lab_tensor *logp, lab_tensor *target,
                         lab_tensor *classes, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *total = NULL;

    LAB__TRY(lab__tensor_of(logp, 0, NULL, &made));
    LAB__TRY(lab__tensor_of(logp, 0, NULL, &total));
    nll_sum(made, total, logp, classes);
    return lab__recorded(
        &(struct lab__recording){.name = "NllLossBackward0",
                                 .backward = nll_back,
                                 LAB__INPUTS(logp),
                                 LAB__SAVES(logp, target, total)},
        &made, out);
}

/* ---- cross-entropy -------------------------------------------------------- */

static larder_result shapes_check(const lab_tensor *logits,
                                  const lab_tensor *target)
{
    const char *op = "cross_entropy";

    LAB__TRY(lab__check_float(op, logits));
    LAB__TRY(lab__nn_check_index(op, target));
    LAB__TRY(lab__check_place(op, logits, target));
    LAB__TRY(lab__nn_check_ndim(op, "logits", logits, 2));
    LAB__TRY(lab__nn_check_ndim(op, "the target", target, 1));
    if (logits->sizes[0] == target->sizes[0])
        return LARDER_OK;
    return lab__invalid("cross_entropy: %lld rows of logits, %lld classes",
                        (long long)logits->sizes[0],
                        (long long)target->sizes[0]);
}

larder_result lab_cross_entropy(lab_tensor *logits, lab_tensor *target,
                                lab_tensor **out)
{
    LAB__OWNED lab_tensor *classes = NULL, *logp = NULL;
    int64_t value;

    LAB__TRY(shapes_check(logits, target));
    LAB__TRY(lab__nn_dense(target, &classes));
    if (lab__index_outside(classes, 0, logits->sizes[1], &ignored, &value))
        return lab__invalid("cross_entropy: class %lld is not in [0, %lld)",
                            (long long)value, (long long)logits->sizes[1]);
    LAB__TRY(lab_log_softmax(logits, 1, &logp));
    return nll(logp, target, classes, out);
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

static larder_result mse_back(const struct lab__back *b)
{
    for (unsigned i = 0; i < 2; i++) {
        const lab_tensor *of = lab__saved(b, i), *other = lab__saved(b, 1 - i);

        if (!lab__wants(b, i))
            continue;
        LAB__TRY(lab__tensor_like(of, &b->results[i]));
        mse_gradient(b->results[i], of, other, b->grads[0],
                     2.0 / (double)lab_numel(of));
    }
    return LARDER_OK;
}

/* PyTorch's result is a window of one element on memory allocated for all of
 * them: it is shrunk in place, which frees nothing. */
static larder_result mse_result_make(const lab_tensor *a, lab_tensor **out)
{
    int64_t none = 0;
    LAB__OWNED lab_tensor *whole = NULL;

    if (lab_numel(a) == 0)
        return lab__tensor_of(a, 0, NULL, out);
    LAB__TRY(lab__tensor_like(a, &whole));
    return lab__tensor_window(whole, 0, &none, &none, 0, out);
}

static larder_result mse(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *squares = NULL;

    LAB__TRY(mse_result_make(a, &made));
    LAB__TRY(lab__tensor_like(a, &squares));
    lab__binary(LAB__SUB, squares, a, b, 1);
    lab__binary(LAB__MUL, squares, squares, squares, 1);
    lab__sum_dims(made, squares, (1U << squares->ndim) - 1,
                  1.0 / (double)lab_numel(squares));
    return lab__recorded(&(struct lab__recording){.name = "MseLossBackward0",
                                                  .backward = mse_back,
                                                  LAB__INPUTS(a, b),
                                                  LAB__SAVES(a, b)},
                         &made, out);
}

larder_result lab_mse_loss(lab_tensor *a, lab_tensor *b, lab_tensor **out)
{
    LAB__OWNED lab_tensor *wide_b = NULL, *wide_a = NULL;
    int64_t sizes[LAB_MAX_DIMS];
    int ndim;

    LAB__TRY(lab__check_float("mse_loss", a));
    LAB__TRY(lab__nn_check_part("mse_loss", a, b));
    LAB__TRY(lab__broadcast("mse_loss", a, b, &ndim, sizes));
    if (lab__same_sizes(a, b))
        return mse(a, b, out);
    LAB__TRY(lab_expand(a, ndim, sizes, &wide_a));
    LAB__TRY(lab_expand(b, ndim, sizes, &wide_b));
    return mse(wide_a, wide_b, out);
}
