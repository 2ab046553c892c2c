/* experiment_training.c - a training loop: a perceptron for images of 784
 * numbers, with SGD. */
#include "experiment_training.h"

#include <string.h>

#include "lab_try.h"

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
