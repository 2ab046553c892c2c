/* experiment_training.h - a training loop: a perceptron for images of 784
 * numbers, batches as a shuffling DataLoader makes them, SGD with momentum. */
#ifndef LARDER_CLI_LAB_EXPERIMENT_TRAINING_H
#define LARDER_CLI_LAB_EXPERIMENT_TRAINING_H

#include "experiment.h"
#include "experiment_models.h"

enum { TRAINING_ROWS = 2048, TRAINING_WIDTH = 784, TRAINING_CLASSES = 10 };

/* With the names of the Python program's variables, which hold what they hold
 * until they are bound again. */
struct training {
    lab *session;
    struct mlp model;
    lab_optimizer *optimizer;
    lab_tensor *data, *classes; /* on the host */
    lab_tensor *order;          /* of the rows, this epoch */
    int64_t next;               /* row of the order */
    lab_tensor *inputs, *labels, *outputs, *loss;
};

/* For the session of `e`; what it made is dropped when it fails. */
bool training_begin(struct exp *e, struct training *t);
void training_end(struct training *t);

/* One iteration.  A new epoch begins where fewer than `batch` rows are left. */
bool training_step(struct exp *e, struct training *t, int64_t batch);

#endif
