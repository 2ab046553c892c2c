/* experiment_models.h - the models that experiments train, and a training loop: a
 * perceptron for images of 784 numbers, batches as from a shuffling DataLoader, SGD with
 * momentum. */
#pragma once

#include "experiment.h"

enum { MLP_LAYERS = 3, BLOCK_PARAMETERS = 12 };

/* Linear, ReLU, Linear, ReLU, Linear. */
struct mlp {
    lab_tensor *parameter[2 * MLP_LAYERS]; /* weight, bias, weight, ... */
};

/* A pre-norm transformer block:
 * h = h + proj(attention(ln1(h))); h = h + fc2(gelu(fc1(ln2(h)))). */
struct block {
    /* ln1, qkv, proj, ln2, fc1, fc2: each has a weight and a bias. */
    lab_tensor *parameter[BLOCK_PARAMETERS];
    int64_t heads;
};

larder_result block_create(lab *l, int64_t width, int64_t heads,
                           struct block *out);
void block_drop(struct block *b);
/* `context` is the block: a lab_segment_fn. */
larder_result block_forward(void *context, lab_tensor *h, lab_tensor **out);

enum { TRAINING_ROWS = 2048, TRAINING_WIDTH = 784, TRAINING_CLASSES = 10 };

/* Named after the Python program's variables; each holds its value until it is
 * rebound. */
struct training {
    lab *session;
    struct mlp model;
    lab_optimizer *optimizer;
    lab_tensor *data, *classes; /* on the host */
    lab_tensor *order;          /* of the rows in this epoch */
    int64_t next;               /* index in `order` */
    lab_tensor *inputs, *labels, *outputs, *loss;
};

/* In the session of `e`; on failure it drops what it created. */
bool training_begin(struct exp *e, struct training *t);
void training_end(struct training *t);

/* One iteration.  A new epoch begins if fewer than `batch` rows are left. */
bool training_step(struct exp *e, struct training *t, int64_t batch);
