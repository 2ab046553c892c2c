/* experiment_models.h - the models that experiments train. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_MODELS_H
#define LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_MODELS_H

#include <larder/lab.h>

enum { MLP_LAYERS = 3, BLOCK_PARAMETERS = 12 };

/* Linear, ReLU, Linear, ReLU, Linear. */
struct mlp {
    lab_tensor *parameter[2 * MLP_LAYERS]; /* weight, bias, weight, ... */
};

/* On the device; on failure it drops what it created. */
larder_result mlp_create(lab *l, const int64_t widths[MLP_LAYERS + 1],
                         struct mlp *out);
void mlp_drop(struct mlp *m);
larder_result mlp_forward(const struct mlp *m, lab_tensor *x, lab_tensor **out);

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

#endif
