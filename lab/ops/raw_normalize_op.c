/* raw_normalize_op.c - normalisation of channels and groups of channels, not
 * recorded. */
#include <larder/lab_raw.h>

#include "kernels/nn_kernels.h"
#include "ops/op.h"

static larder_result affine_check(const lab_tensor *x, const lab_tensor *t,
                                  const char *what)
{
    LAB__TRY(lab__nn_check_part("norm", x, t));
    if (t == NULL || (t->ndim == 1 && t->sizes[0] == x->sizes[1]))
        return LARDER_OK;
    return lab__invalid(
        "norm: the %s must have an element for each of %lld channels", what,
        (long long)x->sizes[1]);
}

static larder_result input_check(const lab_tensor *x, int64_t groups)
{
    LAB__TRY(lab__check_float("norm", x));
    if (x->ndim < 2)
        return lab__invalid("norm: the input must have images and channels, it "
                            "has %d dimensions",
                            x->ndim);
    if (groups < 0 || (groups > 0 && x->sizes[1] % groups != 0))
        return lab__invalid(
            "norm: %lld channels cannot be divided into %lld groups",
            (long long)x->sizes[1], (long long)groups);
    if (lab_numel(x) == 0)
        return lab__invalid("norm: the tensor has no elements");
    return LARDER_OK;
}

/* Statistics are float32 even if the input is narrower. */
static larder_result moments_make(const lab_tensor *x, const lab_tensor *dense,
                                  int64_t groups, double eps, lab_tensor **out,
                                  lab_tensor **rstd)
{
    int64_t sizes[2] = {groups == 0 ? x->sizes[1] : x->sizes[0], groups};
    int ndim = groups == 0 ? 1 : 2;
    lab_dtype dtype = x->dtype == LAB_FLOAT64 ? LAB_FLOAT64 : LAB_FLOAT32;
    lab *l = x->storage->session;
    lab_place place = x->storage->place;
    LAB__OWNED lab_tensor *mean = NULL;

    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, &mean));
    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, rstd));
    lab__moments(mean, *rstd, dense, groups, eps);
    return lab__give(&mean, out);
}

larder_result lab_raw_normalize(lab_tensor *x, int64_t groups, lab_tensor *w,
                                lab_tensor *b, double eps, lab_tensor **mean,
                                lab_tensor **rstd, lab_tensor **out)
{
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(input_check(x, groups));
    LAB__TRY(affine_check(x, w, "weight"));
    LAB__TRY(affine_check(x, b, "bias"));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){x, w, b}, &d));
    LAB__TRY(lab__tensor_like(x, &made));
    if (*mean == NULL)
        LAB__TRY(moments_make(x, d.t[0], groups, eps, mean, rstd));
    lab__normalize(made, d.t[0], groups, *mean, *rstd, d.t[1], d.t[2]);
    return lab__done(&made, out);
}

/* ---- backward ----------------------------------------------------------- */

larder_result lab_raw_normalize_backward(lab_tensor *grad, lab_tensor *x,
                                         int64_t groups, lab_tensor *w,
                                         lab_tensor *mean, lab_tensor *rstd,
                                         bool live, lab_tensor **grad_x,
                                         lab_tensor **grad_w,
                                         lab_tensor **grad_b)
{
    const lab_tensor *affine = w != NULL ? w : x;
    LAB__OWNED lab_tensor *to_x = NULL, *to_w = NULL, *to_b = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};

    LAB__TRY(input_check(x, groups));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){grad, x, w}, &d));
    if (grad_x != NULL)
        LAB__TRY(lab__tensor_like(x, &to_x));
    if (grad_w != NULL)
        LAB__TRY(lab__tensor_of(affine, 1, &x->sizes[1], &to_w));
    if (grad_b != NULL)
        LAB__TRY(lab__tensor_of(affine, 1, &x->sizes[1], &to_b));
    lab__normalize_backward(&(struct lab__normalize_grads){to_x, to_w, to_b},
                            d.t[0], d.t[1], groups, mean, rstd, d.t[2], live);
    if (grad_x != NULL)
        lab__done(&to_x, grad_x);
    if (grad_w != NULL)
        lab__done(&to_w, grad_w);
    if (grad_b != NULL)
        lab__done(&to_b, grad_b);
    return LARDER_OK;
}
