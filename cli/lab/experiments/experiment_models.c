/* experiment_models.c - the models that experiments train, written as their
 * Python reads, and a training loop. */
#include "experiment_models.h"

#include <math.h>
#include <string.h>

#include "lab_try.h"

/* Values are dropped in the order in which Python drops them; otherwise the
 * experiments' peaks would differ from PyTorch's. */

/* out × in's weight is parameter[0], its bias parameter[1].  What was created is
 * dropped with the model. */
static larder_result linear_create(lab *l, int64_t in, int64_t out,
                                   lab_tensor **parameter)
{
    const int64_t sizes[] = {out, in};

    for (int i = 0; i < 2; i++) {
        LAB_TRY(
            lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 2 - i, sizes, &parameter[i]));
        LAB_TRY(lab_mul_scalar_inplace(parameter[i],
                                       i == 0 ? 1 / sqrt((double)in) : 0));
        LAB_TRY(lab_set_requires_grad(parameter[i], true));
    }
    return LARDER_OK;
}

static larder_result drop_all(lab_tensor **parameter, int count,
                              larder_result r)
{
    for (int i = 0; i < count; i++)
        lab_drop(&parameter[i]);
    return r;
}

/* ---- the perceptron ---- */

static larder_result mlp_create(lab *l, const int64_t widths[MLP_LAYERS + 1],
                                struct mlp *out)
{
    larder_result r = LARDER_OK;

    memset(out, 0, sizeof *out);
    for (int i = 0; r == LARDER_OK && i < MLP_LAYERS; i++)
        r = linear_create(l, widths[i], widths[i + 1], &out->parameter[2 * i]);
    return r == LARDER_OK ? r : drop_all(out->parameter, 2 * MLP_LAYERS, r);
}

static void mlp_drop(struct mlp *m)
{
    drop_all(m->parameter, 2 * MLP_LAYERS, LARDER_OK);
}

static larder_result mlp_forward(const struct mlp *m, lab_tensor *x,
                                 lab_tensor **out)
{
    LAB_OWNED lab_tensor *h = lab_ref(x);

    for (int i = 0; i < MLP_LAYERS; i++) {
        if (i > 0)
            LAB_REBIND(&h, lab_relu(h, &made));
        LAB_REBIND(&h, lab_linear(h, m->parameter[2 * i],
                                  m->parameter[2 * i + 1], &made));
    }
    return lab_give(&h, out);
}

/* ---- the block ---- */

enum { LN1, QKV, PROJ, LN2, FC1, FC2, LAYERS };

static bool is_norm(int layer)
{
    return layer == LN1 || layer == LN2;
}

static larder_result norm_create(lab *l, int64_t width, lab_tensor **parameter)
{
    LAB_TRY(lab_ones(l, LAB_FLOAT32, LAB_DEVICE, 1, &width, &parameter[0]));
    LAB_TRY(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 1, &width, &parameter[1]));
    LAB_TRY(lab_set_requires_grad(parameter[0], true));
    return lab_set_requires_grad(parameter[1], true);
}

larder_result block_create(lab *l, int64_t width, int64_t heads,
                           struct block *out)
{
    static const int64_t in[LAYERS] = {
        [QKV] = 1, [PROJ] = 1, [FC1] = 1, [FC2] = 4}; /* in widths */
    static const int64_t to[LAYERS] = {
        [QKV] = 3, [PROJ] = 1, [FC1] = 4, [FC2] = 1};
    larder_result r = LARDER_OK;

    memset(out, 0, sizeof *out);
    out->heads = heads;
    for (int i = 0; r == LARDER_OK && i < LAYERS; i++) {
        lab_tensor **p = &out->parameter[2 * i];

        r = is_norm(i) ? norm_create(l, width, p)
                       : linear_create(l, in[i] * width, to[i] * width, p);
    }
    return r == LARDER_OK ? r : drop_all(out->parameter, BLOCK_PARAMETERS, r);
}

void block_drop(struct block *b)
{
    drop_all(b->parameter, BLOCK_PARAMETERS, LARDER_OK);
}

/* *t = layer(*t) */
static larder_result through(const struct block *b, int layer, lab_tensor **t)
{
    lab_tensor *w = b->parameter[2 * layer],
               *bias = b->parameter[2 * layer + 1];

    LAB_REBIND(t, is_norm(layer) ? lab_layer_norm(*t, w, bias, 1e-5, &made)
                                 : lab_linear(*t, w, bias, &made));
    return LARDER_OK;
}

/* B×T×C to B×heads×T×(C/heads): a view. */
static larder_result split_heads(lab_tensor **t, int64_t heads)
{
    const int64_t *s = lab_sizes(*t);
    const int64_t sizes[] = {s[0], s[1], heads, s[2] / heads};

    LAB_REBIND(t, lab_view(*t, 4, sizes, &made));
    LAB_REBIND(t, lab_transpose(*t, 1, 2, &made));
    return LARDER_OK;
}

/* The Python function's variables; qkv lives as long as they do. */
enum { Q, K, V, A, VARIABLES };

struct attention {
    lab_tensor *t[VARIABLES];
};

static void attention_drop(struct attention *n)
{
    drop_all(n->t, VARIABLES, LARDER_OK);
}

static larder_result make_qkv(const struct block *b, lab_tensor *h,
                              struct attention *n)
{
    LAB_OWNED lab_tensor *t = lab_ref(h);
    int made;

    LAB_TRY(through(b, LN1, &t));
    LAB_TRY(through(b, QKV, &t));
    LAB_TRY(lab_chunk(t, 3, -1, n->t, &made));
    lab_drop(&t);
    for (int i = Q; i <= V; i++)
        LAB_TRY(split_heads(&n->t[i], b->heads));
    return LARDER_OK;
}

/* a = softmax(q·kᵀ / 8) */
static larder_result make_weights(struct attention *n)
{
    double root = sqrt((double)lab_sizes(n->t[Q])[3]);
    LAB_OWNED lab_tensor *t = lab_ref(n->t[K]);

    LAB_REBIND(&t, lab_transpose(t, -2, -1, &made));
    LAB_REBIND(&t, lab_matmul(n->t[Q], t, &made));
    LAB_REBIND(&t, lab_div_scalar(t, root, &made));
    return lab_softmax(t, -1, &n->t[A]);
}

/* (a·v) with the heads joined again: B×T×C. */
static larder_result mix(const struct attention *n, lab_tensor **out)
{
    const int64_t *s = lab_sizes(n->t[V]);
    const int64_t sizes[] = {s[0], s[2], s[1] * s[3]};
    LAB_OWNED lab_tensor *t = NULL;

    LAB_TRY(lab_matmul(n->t[A], n->t[V], &t));
    LAB_REBIND(&t, lab_transpose(t, 1, 2, &made));
    return lab_reshape(t, 3, sizes, out);
}

/* *h = *h + *part; drops the part first. */
static larder_result add_to(lab_tensor **h, lab_tensor **part)
{
    LAB_OWNED lab_tensor *sum = NULL;

    LAB_TRY(lab_add(*h, *part, &sum));
    lab_drop(part);
    lab_drop(h);
    return lab_give(&sum, h);
}

static larder_result attend(const struct block *b, lab_tensor **h,
                            struct attention *n)
{
    LAB_OWNED lab_tensor *t = NULL;

    LAB_TRY(make_qkv(b, *h, n));
    LAB_TRY(make_weights(n));
    LAB_TRY(mix(n, &t));
    LAB_TRY(through(b, PROJ, &t));
    return add_to(h, &t);
}

static larder_result feed_forward(const struct block *b, lab_tensor **h)
{
    LAB_OWNED lab_tensor *t = lab_ref(*h);

    LAB_TRY(through(b, LN2, &t));
    LAB_TRY(through(b, FC1, &t));
    LAB_REBIND(&t, lab_gelu(t, &made));
    LAB_TRY(through(b, FC2, &t));
    return add_to(h, &t);
}

larder_result block_forward(void *context, lab_tensor *h, lab_tensor **out)
{
    const struct block *b = context;
    LAB_OWNED lab_tensor *t = lab_ref(h);
    __attribute__((cleanup(attention_drop))) struct attention names = {{NULL}};

    LAB_TRY(attend(b, &t, &names));
    LAB_TRY(feed_forward(b, &t));
    return lab_give(&t, out);
}

/* ==== the training loop ==== */

/* ---- data ---- */

/* Rows of noise.  A row's class is the index of the maximum of its first ten
 * numbers, which can be learnt. */
static larder_result make_data(lab *l, struct training *t)
{
    const int64_t sizes[] = {TRAINING_ROWS, TRAINING_WIDTH};
    LAB_OWNED lab_tensor *first = NULL;

    LAB_TRY(lab_randn(l, LAB_FLOAT32, LAB_HOST, 2, sizes, &t->data));
    LAB_TRY(lab_slice(t->data, 1, 0, TRAINING_CLASSES, 1, &first));
    return lab_argmax(first, 1, &t->classes);
}

static larder_result shuffle(struct training *t)
{
    LAB_REBIND(&t->order, lab_randperm(t->session, TRAINING_ROWS, &made));
    t->next = 0;
    return LARDER_OK;
}

/* inputs, labels = the next batch, on the host. */
static larder_result next_batch(struct training *t, int64_t batch)
{
    LAB_OWNED lab_tensor *rows = NULL;
    int64_t end;

    if (t->next + batch > TRAINING_ROWS)
        LAB_TRY(shuffle(t));
    end = t->next + batch;
    LAB_TRY(lab_slice(t->order, 0, t->next, end, 1, &rows));
    t->next = end;
    LAB_REBIND(&t->inputs, lab_index_rows(t->data, rows, &made));
    LAB_REBIND(&t->labels, lab_index_rows(t->classes, rows, &made));
    return LARDER_OK;
}

/* ---- the loop's body ---- */

static larder_result step(struct training *t, int64_t batch)
{
    LAB_TRY(next_batch(t, batch));
    LAB_REBIND(&t->inputs, lab_to(t->inputs, LAB_DEVICE, &made));
    LAB_REBIND(&t->labels, lab_to(t->labels, LAB_DEVICE, &made));
    LAB_TRY(lab_optimizer_zero_grad(t->optimizer, true));
    LAB_REBIND(&t->outputs, mlp_forward(&t->model, t->inputs, &made));
    LAB_REBIND(&t->loss, lab_cross_entropy(t->outputs, t->labels, &made));
    LAB_TRY(lab_backward(t->loss, NULL, false));
    return lab_optimizer_step(t->optimizer);
}

bool training_step(struct exp *e, struct training *t, int64_t batch)
{
    return exp_try(e, step(t, batch));
}

/* ---- begin and end -------- */

static larder_result begin(struct training *t)
{
    static const int64_t widths[] = {TRAINING_WIDTH, 512, 256,
                                     TRAINING_CLASSES};
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    opt.lr = 0.05;
    opt.momentum = 0.9;
    LAB_TRY(make_data(t->session, t));
    LAB_TRY(shuffle(t));
    LAB_TRY(mlp_create(t->session, widths, &t->model));
    return lab_optimizer_create(t->session, LAB_SGD, &opt, t->model.parameter,
                                2 * MLP_LAYERS, &t->optimizer);
}

bool training_begin(struct exp *e, struct training *t)
{
    memset(t, 0, sizeof *t);
    t->session = e->session;
    if (exp_try(e, begin(t)))
        return true;
    training_end(t);
    return false;
}

void training_end(struct training *t)
{
    lab_optimizer_destroy(t->optimizer);
    mlp_drop(&t->model);
    lab_unref(t->data);
    lab_unref(t->classes);
    lab_unref(t->order);
    lab_unref(t->inputs);
    lab_unref(t->labels);
    lab_unref(t->outputs);
    lab_unref(t->loss);
    memset(t, 0, sizeof *t);
}
