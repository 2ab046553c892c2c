/* models.h - the trainings behind the recorded steps, call for call what their
 * Python code does: a local of forward() is released on return, a temporary
 * after its use, and `x = f(x)` binds the new value before it releases the old
 * one. */
#pragma once

#include <larder/lab.h>

/* Called where the recording has a mark; with NULL where it ends, before the
 * model is destroyed. */
typedef void (*model_mark)(void *context, const char *label);

/* x = zeros(…); y = 5·x; mean(y).backward() */
void model_backward(lab *l, bool retain, model_mark mark, void *context);

/* Three steps of a perceptron with SGD and momentum. losses: one per step, or
 * NULL. */
void model_mlp(lab *l, model_mark mark, void *context, double losses[3]);

/* Two steps of two transformer blocks with AdamW. */
void model_blocks(lab *l, bool checkpointed, model_mark mark, void *context,
                  double losses[2]);
