/* prompt_function.h - functions used by rows of several tables. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_FUNCTION_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_FUNCTION_H

#include "prompt_session.h"

#define PROMPT_FUNCTION(name)                                                  \
    bool name(struct prompt *p, const struct prompt_builtin *self,             \
              struct prompt_value *args, struct prompt_value *out)

PROMPT_FUNCTION(prompt_call_unary);
PROMPT_FUNCTION(prompt_call_binary);
/* .number: 0 add, 1 sub, 2 mul, 3 div, 4 pow; tensors and numbers. */
PROMPT_FUNCTION(prompt_call_operator);

enum { REDUCE_SUM, REDUCE_MEAN };
PROMPT_FUNCTION(prompt_call_reduction);

enum { DIM_SOFTMAX, DIM_LOG_SOFTMAX, DIM_ARGMAX, DIM_SQUEEZE, DIM_UNSQUEEZE };
PROMPT_FUNCTION(prompt_call_dim);

enum { JOIN_CAT, JOIN_STACK };

#endif
