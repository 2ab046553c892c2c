/* experiment_models.c - the models that experiments train, written as their
 * Python reads. */
/* Values are dropped in the order in which Python drops them; otherwise the
 * experiments' peaks would differ from PyTorch's. */
#include "experiment_models.h"

#include <math.h>
#include <string.h>

/* *t = made, dropping the old value. */
static void assign(lab_tensor **t, lab_tensor *made)
{
    lab_unref(*t);
    *t = made;
}

static larder_result parameter_create(lab *l, int ndim, const int64_t *sizes,
                                      double scale, lab_tensor **out)
{
    lab_tensor *t;
    larder_result r;

    r = lab_randn(l, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &t);
    if (r != LARDER_OK)
        return r;
    r = lab_mul_scalar_inplace(t, scale);
    if (r == LARDER_OK)
        r = lab_set_requires_grad(t, true);
    if (r != LARDER_OK) {
        lab_unref(t);
        return r;
    }
    *out = t;
    return LARDER_OK;
}

/* parameter[0] is in × out's weight, parameter[1] its bias. */
static larder_result linear_create(lab *l, int64_t in, int64_t out,
                                   lab_tensor **parameter)
{
    const int64_t sizes[] = {out, in};
    larder_result r =
        parameter_create(l, 2, sizes, 1 / sqrt((double)in), &parameter[0]);

    if (r == LARDER_OK)
        r = parameter_create(l, 1, sizes, 0, &parameter[1]);
    return r;
}

static void experiment_models_drop_all(lab_tensor **parameter, int count)
{
    for (int i = 0; i < count; i++)
        assign(&parameter[i], NULL);
}

/* ---- the perceptron ---- */

larder_result mlp_create(lab *l, const int64_t widths[MLP_LAYERS + 1],
                         struct mlp *out)
{
    larder_result r = LARDER_OK;

    memset(out, 0, sizeof *out);
    for (int i = 0; r == LARDER_OK && i < MLP_LAYERS; i++)
        r = linear_create(l, widths[i], widths[i + 1], &out->parameter[2 * i]);
    if (r != LARDER_OK)
        mlp_drop(out);
    return r;
}

void mlp_drop(struct mlp *m)
{
    experiment_models_drop_all(m->parameter, 2 * MLP_LAYERS);
}

larder_result mlp_forward(const struct mlp *m, lab_tensor *x, lab_tensor **out)
{
    lab_tensor *h = lab_ref(x), *made = NULL;
    larder_result r = LARDER_OK;

    for (int i = 0; r == LARDER_OK && i < MLP_LAYERS; i++) {
        r = lab_linear(h, m->parameter[2 * i], m->parameter[2 * i + 1], &made);
        if (r != LARDER_OK)
            break;
        assign(&h, made);
        if (i == MLP_LAYERS - 1)
            break;
        r = lab_relu(h, &made);
        if (r == LARDER_OK)
            assign(&h, made);
    }
    if (r == LARDER_OK)
        *out = h;
    else
        lab_unref(h);
    return r;
}

/* ---- the block ---- */

enum { LN1 = 0, QKV = 2, PROJ = 4, LN2 = 6, FC1 = 8, FC2 = 10 };

static larder_result norm_create(lab *l, int64_t width, lab_tensor **parameter)
{
    larder_result r;

    r = lab_ones(l, LAB_FLOAT32, LAB_DEVICE, 1, &width, &parameter[0]);
    if (r == LARDER_OK)
        r = lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &width, &parameter[1]);
    if (r == LARDER_OK)
        r = lab_set_requires_grad(parameter[0], true);
    if (r == LARDER_OK)
        r = lab_set_requires_grad(parameter[1], true);
    return r;
}

larder_result block_create(lab *l, int64_t width, int64_t heads,
                           struct block *out)
{
    lab_tensor **p = out->parameter;
    larder_result r;

    memset(out, 0, sizeof *out);
    out->heads = heads;
    r = norm_create(l, width, p + LN1);
    if (r == LARDER_OK)
        r = linear_create(l, width, 3 * width, p + QKV);
    if (r == LARDER_OK)
        r = linear_create(l, width, width, p + PROJ);
    if (r == LARDER_OK)
        r = norm_create(l, width, p + LN2);
    if (r == LARDER_OK)
        r = linear_create(l, width, 4 * width, p + FC1);
    if (r == LARDER_OK)
        r = linear_create(l, 4 * width, width, p + FC2);
    if (r != LARDER_OK)
        block_drop(out);
    return r;
}

void block_drop(struct block *b)
{
    experiment_models_drop_all(b->parameter, BLOCK_PARAMETERS);
}

/* *t = layer(*t), for a linear layer or a norm. */
static larder_result through_linear(const struct block *b, int layer,
                                    lab_tensor **t)
{
    lab_tensor *made;
    larder_result r =
        lab_linear(*t, b->parameter[layer], b->parameter[layer + 1], &made);

    if (r == LARDER_OK)
        assign(t, made);
    return r;
}

static larder_result through_norm(const struct block *b, int layer,
                                  lab_tensor **t)
{
    lab_tensor *made;
    larder_result r = lab_layer_norm(*t, b->parameter[layer],
                                     b->parameter[layer + 1], 1e-5, &made);

    if (r == LARDER_OK)
        assign(t, made);
    return r;
}

static larder_result transposed(lab_tensor **t, int dim0, int dim1)
{
    lab_tensor *made;
    larder_result r = lab_transpose(*t, dim0, dim1, &made);

    if (r == LARDER_OK)
        assign(t, made);
    return r;
}

/* B×T×C to B×heads×T×(C/heads): a view. */
static larder_result split_heads(lab_tensor **t, int64_t heads)
{
    const int64_t *s = lab_sizes(*t);
    const int64_t sizes[] = {s[0], s[1], heads, s[2] / heads};
    lab_tensor *made;
    larder_result r = lab_view(*t, 4, sizes, &made);

    if (r != LARDER_OK)
        return r;
    assign(t, made);
    return transposed(t, 1, 2);
}

/* The Python function's variables; qkv lives as long as they do. */
struct attention {
    lab_tensor *q, *k, *v, *a;
};

static void attention_drop(struct attention *n)
{
    assign(&n->q, NULL);
    assign(&n->k, NULL);
    assign(&n->v, NULL);
    assign(&n->a, NULL);
}

static larder_result make_qkv(const struct block *b, lab_tensor *h,
                              struct attention *n)
{
    lab_tensor *t = lab_ref(h), *parts[3];
    int made = 0;
    larder_result r = through_norm(b, LN1, &t);

    if (r == LARDER_OK)
        r = through_linear(b, QKV, &t);
    if (r == LARDER_OK)
        r = lab_chunk(t, 3, -1, parts, &made);
    lab_unref(t);
    if (r != LARDER_OK)
        return r;
    n->q = parts[0];
    n->k = parts[1];
    n->v = parts[2];
    r = split_heads(&n->q, b->heads);
    if (r == LARDER_OK)
        r = split_heads(&n->k, b->heads);
    if (r == LARDER_OK)
        r = split_heads(&n->v, b->heads);
    return r;
}

/* a = softmax(q·kᵀ / 8) */
static larder_result make_weights(struct attention *n)
{
    const int64_t *sizes = lab_sizes(n->q);
    lab_tensor *t = lab_ref(n->k), *made;
    larder_result r = transposed(&t, -2, -1);

    if (r == LARDER_OK)
        r = lab_matmul(n->q, t, &made);
    if (r == LARDER_OK) {
        assign(&t, made);
        r = lab_div_scalar(t, sqrt((double)sizes[3]), &made);
    }
    if (r == LARDER_OK) {
        assign(&t, made);
        r = lab_softmax(t, -1, &n->a);
    }
    lab_unref(t);
    return r;
}

/* (a·v) with the heads joined again: B×T×C. */
static larder_result experiment_models_mix(const struct attention *n,
                                           lab_tensor **out)
{
    const int64_t *s = lab_sizes(n->v);
    const int64_t sizes[] = {s[0], s[2], s[1] * s[3]};
    lab_tensor *t;
    larder_result r = lab_matmul(n->a, n->v, &t);

    if (r != LARDER_OK)
        return r;
    r = transposed(&t, 1, 2);
    if (r == LARDER_OK)
        r = lab_reshape(t, 3, sizes, out);
    lab_unref(t);
    return r;
}

/* *h = *h + part; drops part. */
static larder_result add_to(lab_tensor **h, lab_tensor *part)
{
    lab_tensor *made;
    larder_result r = lab_add(*h, part, &made);

    lab_unref(part);
    if (r == LARDER_OK)
        assign(h, made);
    return r;
}

static larder_result attend(const struct block *b, lab_tensor **h,
                            struct attention *n)
{
    lab_tensor *t;
    larder_result r = make_qkv(b, *h, n);

    if (r == LARDER_OK)
        r = make_weights(n);
    if (r == LARDER_OK)
        r = experiment_models_mix(n, &t);
    if (r != LARDER_OK)
        return r;
    r = through_linear(b, PROJ, &t);
    if (r == LARDER_OK)
        return add_to(h, t);
    lab_unref(t);
    return r;
}

static larder_result feed_forward(const struct block *b, lab_tensor **h)
{
    lab_tensor *t = lab_ref(*h), *made;
    larder_result r = through_norm(b, LN2, &t);

    if (r == LARDER_OK)
        r = through_linear(b, FC1, &t);
    if (r == LARDER_OK)
        r = lab_gelu(t, &made);
    if (r == LARDER_OK) {
        assign(&t, made);
        r = through_linear(b, FC2, &t);
    }
    if (r == LARDER_OK)
        return add_to(h, t);
    lab_unref(t);
    return r;
}

larder_result block_forward(void *context, lab_tensor *h, lab_tensor **out)
{
    const struct block *b = context;
    struct attention names = {0};
    lab_tensor *t = lab_ref(h);
    larder_result r = attend(b, &t, &names);

    if (r == LARDER_OK)
        r = feed_forward(b, &t);
    attention_drop(&names);
    if (r == LARDER_OK)
        *out = t;
    else
        lab_unref(t);
    return r;
}
