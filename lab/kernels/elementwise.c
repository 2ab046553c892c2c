/* elementwise.c - element-wise operations on tensors of any strides, broadcast
 * to one shape; elementwise_rows.c has the innermost loops. */
#include "kernels/elementwise_rows.h"
#include "kernels/kernels.h"

#include "tensor/element.h"
#include "tensor/narrow.h"
#include "tensor/storage.h"

/* A loop with calls of exp() is worth a thread sooner. */
enum { GRAIN_CHEAP = LAB__GRAIN, GRAIN_DEAR = LAB__GRAIN / 8 };

/* ---- running ------------------------------------------------------------ */

static void elementwise_run(int operands, const lab_tensor *const *tensors,
                            int64_t grain, lab__row_fn row, const void *context)
{
    struct lab__odometer o;

    if (row == NULL || !lab__odometer_init(&o, operands, tensors))
        return;
    lab__odometer_run(tensors[0]->storage->session, &o, grain, row, context);
    lab__round(tensors[0]);
}

static bool unary_is_dear(lab__unary_op op)
{
    return op != LAB__NEG && op != LAB__RELU && op != LAB__SQRT;
}

void lab__unary(lab__unary_op op, lab_tensor *out, const lab_tensor *a)
{
    const lab_tensor *both[] = {out, a};

    elementwise_run(2, both, unary_is_dear(op) ? GRAIN_DEAR : GRAIN_CHEAP,
                    lab__unary_row(op), NULL);
}

static bool binary_is_dear(lab__binary_op op)
{
    return op == LAB__POW || op == LAB__GELU_BACK;
}

void lab__binary(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 const lab_tensor *b, double x)
{
    const lab_tensor *all[] = {out, a, b};
    float as_float = (float)x;
    int64_t as_int = lab__to_int64(x);
    bool is_int = a->kind == LAB_INT64 && op != LAB__EQ;

    elementwise_run(3, all, binary_is_dear(op) ? GRAIN_DEAR : GRAIN_CHEAP,
                    lab__binary_row(op, a->kind, b->kind),
                    is_int ? (const void *)&as_int : (const void *)&as_float);
}

void lab__scalar(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 double b)
{
    struct lab__number n;

    lab__binary(op, out, a,
                lab__number_make(&n, out->storage->session, a->kind, b), 1);
}

void lab__scalar_first(lab__binary_op op, lab_tensor *out, double a,
                       const lab_tensor *b)
{
    struct lab__number n;

    lab__binary(op, out,
                lab__number_make(&n, out->storage->session, b->kind, a), b, 1);
}
