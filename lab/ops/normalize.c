/* normalize.c - layer normalisation. */
#include "kernels/nn_kernels.h"
#include "ops/nn_common.h"

enum { INPUT, MEAN, RSTD, WEIGHT, BIAS, SAVED };

/* Gradients in PyTorch's order: input, weight, bias. */
static larder_result gradients_make(struct lab__node *node,
                                    lab_tensor *const *dense,
                                    lab_tensor *const *saved,
                                    lab_tensor **results)
{
    lab_tensor *grad = dense[0], *in = dense[1];
    lab_tensor *mean = saved[MEAN], *rstd = saved[RSTD];
    larder_result r = LARDER_OK;

    if (lab__node_wants(node, 0))
        r = lab__tensor_like(in, &results[0]);
    if (r == LARDER_OK && lab__node_wants(node, 1))
        r = lab__tensor_like(saved[WEIGHT], &results[1]);
    if (r == LARDER_OK && lab__node_wants(node, 2))
        r = lab__tensor_like(saved[BIAS], &results[2]);
    if (r != LARDER_OK)
        return r;
    if (results[0] != NULL)
        lab__layer_norm_grad_input(results[0], grad, in, mean, rstd, dense[2]);
    if (results[1] != NULL || results[2] != NULL)
        lab__layer_norm_grad_affine(results[1], results[2], grad, in, mean,
                                    rstd);
    return LARDER_OK;
}

static larder_result saved_get(struct lab__node *node, lab_tensor *saved[SAVED])
{
    larder_result r = LARDER_OK;

    for (unsigned i = 0; i < SAVED && r == LARDER_OK; i++)
        r = lab__node_saved(node, i, &saved[i]);
    return r;
}

static larder_result layer_norm_backward(struct lab__node *node,
                                         lab_tensor **grads,
                                         lab_tensor **results)
{
    lab_tensor *saved[SAVED] = {NULL}, *dense[3] = {NULL};
    larder_result r = saved_get(node, saved);

    if (r == LARDER_OK)
        r = lab__nn_dense(grads[0], &dense[0]);
    if (r == LARDER_OK)
        r = lab__nn_dense(saved[INPUT], &dense[1]);
    if (r == LARDER_OK && saved[WEIGHT] != NULL)
        r = lab__nn_dense(saved[WEIGHT], &dense[2]);
    if (r == LARDER_OK)
        r = gradients_make(node, dense, saved, results);
    for (int i = 0; i < 3; i++)
        lab_unref(dense[i]);
    return r;
}

static const struct lab__node_kind layer_norm_kind = {
    .name = "NativeLayerNormBackward0", .backward = layer_norm_backward};

static larder_result normalize_record(lab_tensor *const inputs[3],
                                      lab_tensor *mean, lab_tensor *rstd,
                                      lab_tensor *result)
{
    lab_tensor *const saved[SAVED] = {inputs[0], mean, rstd, inputs[1],
                                      inputs[2]};

    return lab__record_saving(&layer_norm_kind, 3, inputs, result, SAVED,
                              saved);
}

static larder_result affine_check(const lab_tensor *a, const lab_tensor *t,
                                  const char *what)
{
    int64_t width = a->sizes[a->ndim - 1];
    larder_result r = lab__check_float("layer_norm", t);
    char text[LAB__SHAPE_TEXT];

    if (r == LARDER_OK)
        r = lab__check_place("layer_norm", a, t);
    if (r == LARDER_OK && (t->ndim != 1 || t->sizes[0] != width))
        r = lab__fail(LARDER_ERR_INVALID,
                      "layer_norm: the %s must have sizes [%lld], has %s", what,
                      (long long)width,
                      lab__shape_text(t->ndim, t->sizes, text));
    return r;
}

static larder_result arguments_check(const lab_tensor *a, const lab_tensor *w,
                                     const lab_tensor *b)
{
    larder_result r = lab__check_float("layer_norm", a);

    if (r == LARDER_OK && a->ndim == 0)
        r = lab__fail(LARDER_ERR_INVALID,
                      "layer_norm: the input must have a dimension");
    if (r == LARDER_OK && (w == NULL) != (b == NULL))
        r = lab__fail(LARDER_ERR_INVALID,
                      "layer_norm: give weight and bias, or neither");
    if (r == LARDER_OK && w != NULL)
        r = affine_check(a, w, "weight");
    if (r == LARDER_OK && b != NULL)
        r = affine_check(a, b, "bias");
    return r;
}

/* made: result, mean, rstd */
static larder_result outputs_make(const lab_tensor *a, lab_tensor *made[3])
{
    int64_t sizes[LAB_MAX_DIMS];
    larder_result r = lab__tensor_like(a, &made[0]);

    for (int i = 0; i < a->ndim; i++)
        sizes[i] = i == a->ndim - 1 ? 1 : a->sizes[i];
    for (int i = 1; i < 3 && r == LARDER_OK; i++)
        r = lab__tensor_of(a, a->ndim, sizes, &made[i]);
    return r;
}

static larder_result layer_norm(lab_tensor *const inputs[3], double eps,
                                lab_tensor *dense[3], lab_tensor *made[3])
{
    larder_result r = LARDER_OK;

    for (int i = 0; i < 3 && r == LARDER_OK; i++) {
        if (inputs[i] != NULL)
            r = lab__nn_dense(inputs[i], &dense[i]);
    }
    if (r == LARDER_OK)
        r = outputs_make(inputs[0], made);
    if (r != LARDER_OK)
        return r;
    lab__layer_norm_forward(made[0], made[1], made[2], dense[0], dense[1],
                            dense[2], eps);
    return normalize_record(inputs, made[1], made[2], made[0]);
}

larder_result lab_layer_norm(lab_tensor *a, lab_tensor *w, lab_tensor *b,
                             double eps, lab_tensor **out)
{
    lab_tensor *const inputs[3] = {a, w, b};
    lab_tensor *dense[3] = {NULL}, *made[3] = {NULL};
    larder_result r = arguments_check(a, w, b);

    if (r == LARDER_OK)
        r = layer_norm(inputs, eps, dense, made);
    for (int i = 0; i < 3; i++)
        lab_unref(dense[i]);
    lab_unref(made[1]);
    lab_unref(made[2]);
    return lab__done(r, made[0], out);
}
