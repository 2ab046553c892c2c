/* experiment_training.h - a training loop: a perceptron for images of 784
 * numbers, batches as from a shuffling DataLoader, SGD with momentum. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_TRAINING_H
#define LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_TRAINING_H

#include "experiment.h"
#include "experiment_models.h"

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

#endif
