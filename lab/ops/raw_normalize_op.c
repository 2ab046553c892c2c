/* raw_normalize_op.c - normalisation of channels and groups of channels, not
 * recorded. */
#include "ops/raw_common.h"

enum { X, WEIGHT, BIAS, INPUTS };

static larder_result affine_check(const lab_tensor *x, const lab_tensor *t,
                                  const char *what)
{
    larder_result r = LARDER_OK;

    if (t == NULL)
        return r;
    r = lab__check_float("norm", t);
    if (r == LARDER_OK)
        r = lab__check_place("norm", x, t);
    if (r == LARDER_OK && (t->ndim != 1 || t->sizes[0] != x->sizes[1]))
        r = lab__fail(LARDER_ERR_INVALID,
                      "norm: the %s must have an element for each of %lld "
                      "channels",
                      what, (long long)x->sizes[1]);
    return r;
}

static larder_result input_check(const lab_tensor *x, int64_t groups)
{
    larder_result r = lab__check_float("norm", x);

    if (r != LARDER_OK)
        return r;
    if (x->ndim < 2)
        return lab__fail(LARDER_ERR_INVALID,
                         "norm: the input must have images and channels, it "
                         "has %d dimensions",
                         x->ndim);
    if (groups < 0 || (groups > 0 && x->sizes[1] % groups != 0))
        return lab__fail(LARDER_ERR_INVALID,
                         "norm: %lld channels cannot be shared out to %lld "
                         "groups",
                         (long long)x->sizes[1], (long long)groups);
    if (lab_numel(x) == 0)
        return lab__fail(LARDER_ERR_INVALID, "norm: of no elements");
    return LARDER_OK;
}

/* Statistics are float32 even if the input is narrower. */
static larder_result moments_make(const lab_tensor *x, const lab_tensor *dense,
                                  int64_t groups, double eps, lab_tensor **mean,
                                  lab_tensor **rstd)
{
    int64_t sizes[2] = {groups == 0 ? x->sizes[1] : x->sizes[0], groups};
    int ndim = groups == 0 ? 1 : 2;
    lab_dtype dtype = x->dtype == LAB_FLOAT64 ? LAB_FLOAT64 : LAB_FLOAT32;
    larder_result r = lab__tensor_new(x->storage->session, dtype,
                                      x->storage->place, ndim, sizes, mean);

    if (r != LARDER_OK)
        return r;
    r = lab__tensor_new(x->storage->session, dtype, x->storage->place, ndim,
                        sizes, rstd);
    if (r != LARDER_OK) {
        lab__drop_all(1, mean);
        return r;
    }
    lab__moments(*mean, *rstd, dense, groups, eps);
    return LARDER_OK;
}

static larder_result normalize(lab_tensor *x, int64_t groups,
                               lab_tensor *const dense[INPUTS], double eps,
                               lab_tensor **mean, lab_tensor **rstd,
                               lab_tensor *out)
{
    larder_result r = LARDER_OK;

    if (*mean == NULL)
        r = moments_make(x, dense[X], groups, eps, mean, rstd);
    if (r == LARDER_OK)
        lab__normalize(out, dense[X], groups, *mean, *rstd, dense[WEIGHT],
                       dense[BIAS]);
    return r;
}

larder_result lab_raw_normalize(lab_tensor *x, int64_t groups, lab_tensor *w,
                                lab_tensor *b, double eps, lab_tensor **mean,
                                lab_tensor **rstd, lab_tensor **out)
{
    lab_tensor *all[INPUTS] = {x, w, b}, *dense[INPUTS], *made;
    larder_result r = input_check(x, groups);

    if (r == LARDER_OK)
        r = affine_check(x, w, "weight");
    if (r == LARDER_OK)
        r = affine_check(x, b, "bias");
    if (r == LARDER_OK)
        r = lab__dense_all(INPUTS, all, dense);
    if (r != LARDER_OK)
        return r;
    r = lab__tensor_like(x, &made);
    if (r == LARDER_OK) {
        r = normalize(x, groups, dense, eps, mean, rstd, made);
        r = lab__done(r, made, out);
    }
    lab__drop_all(INPUTS, dense);
    return r;
}

/* ---- backward ----------------------------------------------------------- */

static larder_result grads_make(const lab_tensor *x, const lab_tensor *w,
                                lab_tensor **grad_x, lab_tensor **grad_w,
                                lab_tensor **grad_b,
                                struct lab__normalize_grads *out)
{
    const lab_tensor *affine = w != NULL ? w : x;
    larder_result r = LARDER_OK;

    *out = (struct lab__normalize_grads){NULL, NULL, NULL};
    if (grad_x != NULL)
        r = lab__tensor_like(x, &out->x);
    if (r == LARDER_OK && grad_w != NULL)
        r = lab__tensor_of(affine, 1, &x->sizes[1], &out->w);
    if (r == LARDER_OK && grad_b != NULL)
        r = lab__tensor_of(affine, 1, &x->sizes[1], &out->b);
    if (r == LARDER_OK)
        return r;
    lab_unref(out->x);
    lab_unref(out->w);
    return r;
}

static void move_result(lab_tensor *made, lab_tensor **out)
{
    if (out != NULL)
        (void)lab__done(LARDER_OK, made, out);
}

larder_result lab_raw_normalize_backward(lab_tensor *grad, lab_tensor *x,
                                         int64_t groups, lab_tensor *w,
                                         lab_tensor *mean, lab_tensor *rstd,
                                         bool live, lab_tensor **grad_x,
                                         lab_tensor **grad_w,
                                         lab_tensor **grad_b)
{
    lab_tensor *all[3] = {grad, x, w}, *dense[3];
    struct lab__normalize_grads to;
    larder_result r = input_check(x, groups);

    if (r == LARDER_OK)
        r = lab__dense_all(3, all, dense);
    if (r != LARDER_OK)
        return r;
    r = grads_make(x, w, grad_x, grad_w, grad_b, &to);
    if (r == LARDER_OK) {
        lab__normalize_backward(&to, dense[0], dense[1], groups, mean, rstd,
                                dense[2], live);
        move_result(to.x, grad_x);
        move_result(to.w, grad_w);
        move_result(to.b, grad_b);
    }
    lab__drop_all(3, dense);
    return r;
}
