/* experiment_backward.h - the backward pass of the experiments 3. */
#pragma once

#include "experiment.h"

enum { BACKWARD_X, BACKWARD_Y, BACKWARD_VARIABLES };

bool backward_x(struct exp *e);    /* x = zeros(...), 1 GiB, with grad */
bool backward_y(struct exp *e);    /* y = 5 * x */
bool backward_mean(struct exp *e); /* mean(y).backward() */
