/* nccl_value.h - types of values, and their reductions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* ncclRedOp_t; larger numbers are operations that a program made. */
enum { NCCL_SUM, NCCL_PRODUCT, NCCL_MAX, NCCL_MIN, NCCL_AVERAGE };

/* 0: no such type. */
size_t nccl_type_bytes(int type);
/* Names for messages. */
const char *nccl_type_name(int type);
const char *nccl_operation_name(int operation);

/* Whether values of the type are really reduced, by that operation. */
bool nccl_is_reduced(int type, int operation);
/* Reduce `from` into `to`; after the last of `ranks` finish an average. */
void nccl_fold(void *to, const void *from, size_t count, int type,
               int operation);
void nccl_fold_end(void *to, size_t count, int type, int operation, int ranks);

#pragma GCC visibility pop
