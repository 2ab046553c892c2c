/* models.c - the trainings behind the recorded steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "lab/lab_rig.h"
#include "lab/models.h"

/* name = t */
static void bind(lab_tensor **name, lab_tensor *t)
{
    lab_tensor *old = *name;

    *name = t;
    lab_unref(old);
}

static void mark_iteration(model_mark mark, void *context, int i)
{
    char label[24];

    snprintf(label, sizeof label, "iter %d", i);
    mark(context, label);
}

static void loss_note(lab_tensor *loss, double *to)
{
    double value;

    lab_assert_ok(lab_item(loss, &value));
    if (to != NULL)
        *to = value;
}

/* ---- one product ---------------------------------------------------------- */

void model_backward(lab *l, bool retain, model_mark mark, void *context)
{
    const int64_t sizes[] = {1, 256, 256, 64};
    lab_tensor *x, *y, *mean;

    lab_assert_ok(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 4, sizes, &x));
    lab_assert_ok(lab_set_requires_grad(x, true));
    mark(context, "x");
    lab_assert_ok(lab_mul_scalar(x, 5, &y));
    if (retain)
        lab_assert_ok(lab_retain_grad(y));
    mark(context, "y");
    lab_assert_ok(lab_mean(y, &mean));
    lab_assert_ok(lab_backward(mean, NULL, false));
    lab_unref(mean);
    mark(context, "backward");
    mark(context, NULL);
    lab_unref(y);
    lab_unref(x);
}

/* ---- parameters ----------------------------------------------------------- */

/* Random values around 0; requires a gradient. */
static lab_tensor *weight(lab *l, int64_t rows, int64_t columns)
{
    const int64_t sizes[] = {rows, columns};
    lab_tensor *t;

    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 2, sizes, &t));
    lab_assert_ok(lab_mul_scalar_inplace(t, 0.03));
    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

static lab_tensor *vector(lab *l, int64_t count, double value)
{
    lab_tensor *t;

    lab_assert_ok(lab_full(l, LAB_FLOAT32, LAB_DEVICE, 1, &count, value, &t));
    lab_assert_ok(lab_set_requires_grad(t, true));
    return t;
}

/* ---- the perceptron ------------------------------------------------------- */

enum { MLP_PARAMS = 6, MLP_BATCH = 128, MLP_INPUTS = 784, MLP_CLASSES = 10 };

/* The loop's variables that live from one step to the next. */
struct mlp {
    lab *session;
    lab_tensor *params[MLP_PARAMS];
    lab_optimizer *optimizer;
    lab_tensor *inputs, *labels, *logits, *loss;
};

static void mlp_make(struct mlp *m, lab *l)
{
    static const int64_t widths[] = {MLP_INPUTS, 512, 256, MLP_CLASSES};
    lab_optimizer_options opt;

    *m = (struct mlp){.session = l};
    for (int i = 0; i < 3; i++) {
        m->params[2 * i] = weight(l, widths[i + 1], widths[i]);
        m->params[2 * i + 1] = vector(l, widths[i + 1], 0);
    }
    lab_optimizer_options_init(&opt);
    opt.lr = 0.05;
    opt.momentum = 0.9;
    lab_assert_ok(lab_optimizer_create(l, LAB_SGD, &opt, m->params, MLP_PARAMS,
                                       &m->optimizer));
}

static void mlp_free(struct mlp *m)
{
    lab_optimizer_destroy(m->optimizer);
    for (int i = 0; i < MLP_PARAMS; i++)
        lab_unref(m->params[i]);
    lab_unref(m->inputs);
    lab_unref(m->labels);
    lab_unref(m->logits);
    lab_unref(m->loss);
}

/* nn.Sequential: each layer's result is bound to the same name. */
static lab_tensor *mlp_forward(const struct mlp *m)
{
    lab_tensor *x = lab_ref(m->inputs), *next;

    for (int i = 0; i < 3; i++) {
        lab_assert_ok(
            lab_linear(x, m->params[2 * i], m->params[2 * i + 1], &next));
        bind(&x, next);
        if (i == 2)
            break;
        lab_assert_ok(lab_relu(x, &next));
        bind(&x, next);
    }
    return x;
}

static void mlp_step(struct mlp *m, lab_tensor *inputs, lab_tensor *labels,
                     double *loss)
{
    lab_tensor *made;

    lab_assert_ok(lab_to(inputs, LAB_DEVICE, &made));
    bind(&m->inputs, made);
    lab_assert_ok(lab_to(labels, LAB_DEVICE, &made));
    bind(&m->labels, made);
    lab_assert_ok(lab_optimizer_zero_grad(m->optimizer, true));
    bind(&m->logits, mlp_forward(m));
    lab_assert_ok(lab_cross_entropy(m->logits, m->labels, &made));
    bind(&m->loss, made);
    loss_note(m->loss, loss);
    lab_assert_ok(lab_backward(m->loss, NULL, false));
    lab_assert_ok(lab_optimizer_step(m->optimizer));
}

void model_mlp(lab *l, model_mark mark, void *context, double losses[3])
{
    const int64_t shape[] = {MLP_BATCH, MLP_INPUTS};
    const int64_t rows = MLP_BATCH;
    lab_tensor *inputs, *labels;
    struct mlp m;

    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_HOST, 2, shape, &inputs));
    lab_assert_ok(
        lab_randint(l, LAB_INT64, LAB_HOST, 1, &rows, 0, MLP_CLASSES, &labels));
    mlp_make(&m, l);
    for (int i = 0; i < 3; i++) {
        mark_iteration(mark, context, i);
        mlp_step(&m, inputs, labels, losses != NULL ? &losses[i] : NULL);
    }
    mark(context, NULL);
    mlp_free(&m);
    lab_unref(inputs);
    lab_unref(labels);
}

/* ---- the transformer ------------------------------------------------------ */

enum { BATCH = 8, TOKENS = 64, WIDTH = 256, HEADS = 4, BLOCKS = 2 };
enum {
    LN1_W,
    LN1_B,
    QKV_W,
    QKV_B,
    PROJ_W,
    PROJ_B,
    LN2_W,
    LN2_B,
    FC1_W,
    FC1_B,
    FC2_W,
    FC2_B,
    BLOCK_PARAMS
};

struct block {
    lab_tensor **p; /* BLOCK_PARAMS of them */
};

static void block_make(lab *l, lab_tensor **p)
{
    p[LN1_W] = vector(l, WIDTH, 1);
    p[LN1_B] = vector(l, WIDTH, 0);
    p[QKV_W] = weight(l, 3L * WIDTH, WIDTH);
    p[QKV_B] = vector(l, 3L * WIDTH, 0);
    p[PROJ_W] = weight(l, WIDTH, WIDTH);
    p[PROJ_B] = vector(l, WIDTH, 0);
    p[LN2_W] = vector(l, WIDTH, 1);
    p[LN2_B] = vector(l, WIDTH, 0);
    p[FC1_W] = weight(l, 4L * WIDTH, WIDTH);
    p[FC1_B] = vector(l, 4L * WIDTH, 0);
    p[FC2_W] = weight(l, WIDTH, 4L * WIDTH);
    p[FC2_B] = vector(l, WIDTH, 0);
}

/* t = t.view(B, T, heads, C / heads).transpose(1, 2) */
static void heads_split(lab_tensor **t)
{
    const int64_t sizes[] = {BATCH, TOKENS, HEADS, WIDTH / HEADS};
    lab_tensor *made;

    lab_assert_ok(lab_view(*t, 4, sizes, &made));
    bind(t, made);
    lab_assert_ok(lab_transpose(*t, 1, 2, &made));
    bind(t, made);
}

/* q, k, v = qkv(ln1(h)).chunk(3, -1) */
static void block_project(const struct block *b, lab_tensor *h,
                          lab_tensor *qkv[3])
{
    lab_tensor *t = NULL, *next;
    int made;

    lab_assert_ok(lab_layer_norm(h, b->p[LN1_W], b->p[LN1_B], 1e-5, &t));
    lab_assert_ok(lab_linear(t, b->p[QKV_W], b->p[QKV_B], &next));
    bind(&t, next);
    lab_assert_ok(lab_chunk(t, 3, -1, qkv, &made));
    assert_int_equal(made, 3);
    lab_unref(t);
    for (int i = 0; i < 3; i++)
        heads_split(&qkv[i]);
}

/* softmax(q @ k.transpose(-2, -1) / 8, -1) */
static lab_tensor *block_weights(lab_tensor *q, lab_tensor *k)
{
    lab_tensor *t, *next;

    lab_assert_ok(lab_transpose(k, -2, -1, &t));
    lab_assert_ok(lab_matmul(q, t, &next));
    bind(&t, next);
    lab_assert_ok(lab_div_scalar(t, 8, &next));
    bind(&t, next);
    lab_assert_ok(lab_softmax(t, -1, &next));
    bind(&t, next);
    return t;
}

/* proj((a @ v).transpose(1, 2).reshape(B, T, C)) */
static lab_tensor *block_attend(const struct block *b, lab_tensor *a,
                                lab_tensor *v)
{
    const int64_t sizes[] = {BATCH, TOKENS, WIDTH};
    lab_tensor *t = NULL, *next;

    lab_assert_ok(lab_matmul(a, v, &t));
    lab_assert_ok(lab_transpose(t, 1, 2, &next));
    bind(&t, next);
    lab_assert_ok(lab_reshape(t, 3, sizes, &next));
    bind(&t, next);
    lab_assert_ok(lab_linear(t, b->p[PROJ_W], b->p[PROJ_B], &next));
    bind(&t, next);
    return t;
}

/* fc2(gelu(fc1(ln2(h)))) */
static lab_tensor *block_feed(const struct block *b, lab_tensor *h)
{
    lab_tensor *t = NULL, *next;

    lab_assert_ok(lab_layer_norm(h, b->p[LN2_W], b->p[LN2_B], 1e-5, &t));
    lab_assert_ok(lab_linear(t, b->p[FC1_W], b->p[FC1_B], &next));
    bind(&t, next);
    lab_assert_ok(lab_gelu(t, &next));
    bind(&t, next);
    lab_assert_ok(lab_linear(t, b->p[FC2_W], b->p[FC2_B], &next));
    bind(&t, next);
    return t;
}

/* h = h + part; the sum's argument is released before the name is rebound. */
static void residual_add(lab_tensor **h, lab_tensor *part)
{
    lab_tensor *sum;

    lab_assert_ok(lab_add(*h, part, &sum));
    lab_unref(part);
    bind(h, sum);
}

/* q, k, v and a are locals: they are released last. */
static larder_result block_forward(void *context, lab_tensor *input,
                                   lab_tensor **out)
{
    const struct block *b = context;
    lab_tensor *h = lab_ref(input), *qkv[3], *a;

    block_project(b, h, qkv);
    a = block_weights(qkv[0], qkv[1]);
    residual_add(&h, block_attend(b, a, qkv[2]));
    residual_add(&h, block_feed(b, h));
    for (int i = 0; i < 3; i++)
        lab_unref(qkv[i]);
    lab_unref(a);
    *out = h;
    return LARDER_OK;
}

struct blocks {
    lab_tensor *params[BLOCKS * BLOCK_PARAMS];
    struct block block[BLOCKS];
    lab_optimizer *optimizer;
    bool checkpointed;
};

static void blocks_make(struct blocks *m, lab *l, bool checkpointed)
{
    for (int i = 0; i < BLOCKS; i++) {
        m->block[i].p = &m->params[i * BLOCK_PARAMS];
        block_make(l, m->block[i].p);
    }
    lab_assert_ok(lab_optimizer_create(l, LAB_ADAMW, NULL, m->params,
                                       BLOCKS * BLOCK_PARAMS, &m->optimizer));
    m->checkpointed = checkpointed;
}

static void blocks_free(struct blocks *m)
{
    lab_optimizer_destroy(m->optimizer);
    for (int i = 0; i < BLOCKS * BLOCK_PARAMS; i++)
        lab_unref(m->params[i]);
}

static lab_tensor *blocks_forward(struct blocks *m, lab_tensor *h)
{
    for (int i = 0; i < BLOCKS; i++) {
        lab_tensor *next;

        if (m->checkpointed)
            lab_assert_ok(
                lab_checkpoint(block_forward, &m->block[i], NULL, h, &next));
        else
            lab_assert_ok(block_forward(&m->block[i], h, &next));
        bind(&h, next);
    }
    return h;
}

static void blocks_step(struct blocks *m, lab *l, double *note)
{
    const int64_t sizes[] = {BATCH, TOKENS, WIDTH};
    lab_tensor *h, *square, *loss;

    lab_assert_ok(lab_randn(l, LAB_FLOAT32, LAB_DEVICE, 3, sizes, &h));
    if (m->checkpointed)
        lab_assert_ok(lab_set_requires_grad(h, true));
    lab_assert_ok(lab_optimizer_zero_grad(m->optimizer, true));
    h = blocks_forward(m, h);
    lab_assert_ok(lab_mul(h, h, &square));
    lab_assert_ok(lab_mean(square, &loss));
    lab_unref(square);
    loss_note(loss, note);
    lab_assert_ok(lab_backward(loss, NULL, false));
    lab_unref(loss);
    lab_unref(h);
    lab_assert_ok(lab_optimizer_step(m->optimizer));
}

void model_blocks(lab *l, bool checkpointed, model_mark mark, void *context,
                  double losses[2])
{
    struct blocks m;

    blocks_make(&m, l, checkpointed);
    for (int i = 0; i < 2; i++) {
        mark_iteration(mark, context, i);
        blocks_step(&m, l, losses != NULL ? &losses[i] : NULL);
    }
    mark(context, NULL);
    blocks_free(&m);
}
