/* map_kernels.h - element-wise operations, each a function of one element:
 * slower than those of kernels.h, but for operands of any kinds. */
#ifndef LARDER_LAB_KERNELS_MAP_KERNELS_H
#define LARDER_LAB_KERNELS_MAP_KERNELS_H

#include "tensor/tensor.h"

/* The type of a result: that of the operands, at least float32, bool, or that of
 * the operands but the first, a condition. */
typedef enum lab__map_result {
    LAB__MAP_SAME,
    LAB__MAP_FLOAT,
    LAB__MAP_BOOL,
    LAB__MAP_CHOICE
} lab__map_result;

struct lab__map_op {
    const char *name;
    int arity;
    lab__map_result result;
    double (*of)(double x, double y, double z, double p, double q);
};

/* NULL: no such number. */
const struct lab__map_op *lab__map_op_get(int op);
int lab__map_op_find(const char *name);

/* As in kernels.h: operands are broadcast to out. */
void lab__map(const struct lab__map_op *op, lab_tensor *out,
              lab_tensor *const *operands, double p, double q);

#endif
