/* experiment_training.c - a training loop: a perceptron for images of 784
 * numbers, with SGD. */
#include "experiment_training.h"

#include <string.h>

static void assign(lab_tensor **t, lab_tensor *made)
{
    lab_unref(*t);
    *t = made;
}

/* ---- data ---- */

/* Rows of noise.  A row's class is the index of the maximum of its first ten
 * numbers, which can be learnt. */
static larder_result make_data(lab *l, struct training *t)
{
    const int64_t sizes[] = {TRAINING_ROWS, TRAINING_WIDTH};
    lab_tensor *first;
    larder_result r;

    r = lab_randn(l, LAB_FLOAT32, LAB_HOST, 2, sizes, &t->data);
    if (r != LARDER_OK)
        return r;
    r = lab_slice(t->data, 1, 0, TRAINING_CLASSES, 1, &first);
    if (r != LARDER_OK)
        return r;
    r = lab_argmax(first, 1, &t->classes);
    lab_unref(first);
    return r;
}

static larder_result shuffle(struct training *t)
{
    lab_tensor *order;
    larder_result r = lab_randperm(t->session, TRAINING_ROWS, &order);

    if (r != LARDER_OK)
        return r;
    assign(&t->order, order);
    t->next = 0;
    return LARDER_OK;
}

/* inputs, labels = the next batch, on the host. */
static larder_result next_batch(struct training *t, int64_t batch)
{
    lab_tensor *rows, *made;
    larder_result r = LARDER_OK;

    if (t->next + batch > TRAINING_ROWS)
        r = shuffle(t);
    if (r == LARDER_OK)
        r = lab_slice(t->order, 0, t->next, t->next + batch, 1, &rows);
    if (r != LARDER_OK)
        return r;
    t->next += batch;
    r = lab_index_rows(t->data, rows, &made);
    if (r == LARDER_OK) {
        assign(&t->inputs, made);
        r = lab_index_rows(t->classes, rows, &made);
    }
    if (r == LARDER_OK)
        assign(&t->labels, made);
    lab_unref(rows);
    return r;
}

/* ---- the loop's body ---- */

static larder_result to_device(lab_tensor **t)
{
    lab_tensor *made;
    larder_result r = lab_to(*t, LAB_DEVICE, &made);

    if (r == LARDER_OK)
        assign(t, made);
    return r;
}

static larder_result forward(struct training *t)
{
    lab_tensor *made;
    larder_result r = mlp_forward(&t->model, t->inputs, &made);

    if (r != LARDER_OK)
        return r;
    assign(&t->outputs, made);
    r = lab_cross_entropy(t->outputs, t->labels, &made);
    if (r == LARDER_OK)
        assign(&t->loss, made);
    return r;
}

bool training_step(struct exp *e, struct training *t, int64_t batch)
{
    return exp_try(e, next_batch(t, batch)) &&
           exp_try(e, to_device(&t->inputs)) &&
           exp_try(e, to_device(&t->labels)) &&
           exp_try(e, lab_optimizer_zero_grad(t->optimizer, true)) &&
           exp_try(e, forward(t)) &&
           exp_try(e, lab_backward(t->loss, NULL, false)) &&
           exp_try(e, lab_optimizer_step(t->optimizer));
}

/* ---- begin and end -------- */

static bool experiment_training_begin(struct exp *e, struct training *t)
{
    static const int64_t widths[] = {TRAINING_WIDTH, 512, 256,
                                     TRAINING_CLASSES};
    lab_optimizer_options opt;

    lab_optimizer_options_init(&opt);
    opt.lr = 0.05;
    opt.momentum = 0.9;
    return exp_try(e, make_data(t->session, t)) && exp_try(e, shuffle(t)) &&
           exp_try(e, mlp_create(t->session, widths, &t->model)) &&
           exp_try(e, lab_optimizer_create(t->session, LAB_SGD, &opt,
                                           t->model.parameter, 2 * MLP_LAYERS,
                                           &t->optimizer));
}

bool training_begin(struct exp *e, struct training *t)
{
    memset(t, 0, sizeof *t);
    t->session = e->session;
    if (experiment_training_begin(e, t))
        return true;
    training_end(t);
    return false;
}

void training_end(struct training *t)
{
    lab_optimizer_destroy(t->optimizer);
    mlp_drop(&t->model);
    assign(&t->data, NULL);
    assign(&t->classes, NULL);
    assign(&t->order, NULL);
    assign(&t->inputs, NULL);
    assign(&t->labels, NULL);
    assign(&t->outputs, NULL);
    assign(&t->loss, NULL);
    memset(t, 0, sizeof *t);
}
