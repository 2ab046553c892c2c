/* normalize.c - layer normalisation. */
#include "kernels/nn_kernels.h"
#include "ops/op.h"

enum { INPUT, MEAN, RSTD, WEIGHT, BIAS }; /* saved */

/* Gradients in PyTorch's order: input, weight, bias. */
static larder_result layer_norm_back(const struct lab__back *b)
{
    lab_tensor *const *saved = b->node->saved, **to = b->results;
    lab_tensor *mean = saved[MEAN], *rstd = saved[RSTD];
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    lab_tensor *grad, *in;

    LAB__TRY(lab__dense_all(
        3, (lab_tensor *[]){b->grads[0], saved[INPUT], saved[WEIGHT]}, &d));
    grad = d.t[0];
    in = d.t[1];
    if (lab__wants(b, 0))
        LAB__TRY(lab__tensor_like(in, &to[0]));
    if (lab__wants(b, 1))
        LAB__TRY(lab__tensor_like(saved[WEIGHT], &to[1]));
    if (lab__wants(b, 2))
        LAB__TRY(lab__tensor_like(saved[BIAS], &to[2]));
    if (to[0] != NULL)
        lab__layer_norm_grad_input(to[0], grad, in, mean, rstd, d.t[2]);
    if (lab__wants(b, 1) || lab__wants(b, 2))
        lab__layer_norm_grad_affine(to[1], to[2], grad, in, mean, rstd);
    return LARDER_OK;
}

static larder_result affine_check(const lab_tensor *a, const lab_tensor *t,
                                  const char *what)
{
    int64_t width = a->sizes[a->ndim - 1];
    char text[LAB__SHAPE_TEXT];

    LAB__TRY(lab__nn_check_part("layer_norm", a, t));
    if (t == NULL || (t->ndim == 1 && t->sizes[0] == width))
        return LARDER_OK;
    return lab__invalid("layer_norm: the %s must have sizes [%lld], has %s",
                        what, (long long)width,
                        lab__shape_text(t->ndim, t->sizes, text));
}

static larder_result arguments_check(const lab_tensor *a, const lab_tensor *w,
                                     const lab_tensor *b)
{
    LAB__TRY(lab__check_float("layer_norm", a));
    if (a->ndim == 0)
        return lab__invalid("layer_norm: the input must have a dimension");
    if ((w == NULL) != (b == NULL))
        return lab__invalid("layer_norm: give weight and bias, or neither");
    LAB__TRY(affine_check(a, w, "weight"));
    return affine_check(a, b, "bias");
}

larder_result lab_layer_norm(lab_tensor *a, lab_tensor *w, lab_tensor *b,
                             double eps, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL, *rstd = NULL, *mean = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    int64_t sizes[LAB_MAX_DIMS];

    LAB__TRY(arguments_check(a, w, b));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){a, w, b}, &d));
    LAB__TRY(lab__tensor_like(a, &made));
    lab__reduced_sizes(a, 1U << (a->ndim - 1), true, sizes);
    LAB__TRY(lab__tensor_of(a, a->ndim, sizes, &mean));
    LAB__TRY(lab__tensor_of(a, a->ndim, sizes, &rstd));
    lab__layer_norm_forward(made, mean, rstd, d.t[0], d.t[1], d.t[2], eps);
    return lab__recorded(
        &(struct lab__recording){.name = "NativeLayerNormBackward0",
                                 .backward = layer_norm_back,
                                 LAB__INPUTS(a, w, b),
                                 LAB__SAVES(a, mean, rstd, w, b)},
        &made, out);
}
