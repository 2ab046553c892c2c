/* experiment_list.h - all experiments, each in the file of its subject. */
#ifndef LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_LIST_H
#define LARDER_CLI_LAB_EXPERIMENTS_EXPERIMENT_LIST_H

#include "experiment.h"

extern const struct experiment experiment_move_and_reuse;
extern const struct experiment experiment_context_and_growth;
extern const struct experiment experiment_training_loop;
extern const struct experiment experiment_varying_batches;
extern const struct experiment experiment_keeping_losses;
extern const struct experiment experiment_best_fit;
extern const struct experiment experiment_one_empty_cache;
extern const struct experiment experiment_preallocation;
extern const struct experiment experiment_backward;
extern const struct experiment experiment_retain_grad;
extern const struct experiment experiment_two_processes;
extern const struct experiment experiment_units;
extern const struct experiment experiment_checkpointing;

/* Run one and report it; returns the status of experiments_run(). */
int experiment_run(const struct experiment *what,
                   const struct lab_run_options *opt);

#endif
