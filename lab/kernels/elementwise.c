/* elementwise.c - element-wise operations on tensors of any strides, broadcast
 * to one shape; elementwise_rows.c has the innermost loops. */
#include "kernels/elementwise_rows.h"
#include "kernels/kernels.h"

#include "tensor/narrow.h"
#include "tensor/numbers.h"

/* A loop with calls of exp() is worth a thread sooner. */
enum { GRAIN_CHEAP = LAB__GRAIN, GRAIN_DEAR = LAB__GRAIN / 8 };

/* ---- numbers as operands ------------------------------------------------ */

/* A tensor of one number, to be broadcast. */
struct number {
    lab_tensor tensor;
    struct lab__storage storage;
    union {
        float f;
        int64_t i;
        unsigned char b;
    } value;
};

static const lab_tensor *number_make(struct number *n, lab *l, lab_dtype dtype,
                                     double value)
{
    n->storage = (struct lab__storage){
        .refs = 1,
        .place = LAB_HOST,
        .session = l,
        .address = (uint64_t)(uintptr_t)&n->value,
        .bytes = lab__dtype_bytes(dtype),
    };
    n->tensor = (lab_tensor){
        .refs = 1,
        .dtype = (unsigned char)dtype,
        .kind = (unsigned char)dtype,
        .storage = &n->storage,
    };
    if (dtype == LAB_FLOAT32)
        n->value.f = (float)value;
    else if (dtype == LAB_INT64)
        n->value.i = lab__to_int64(value);
    else
        n->value.b = value != 0;
    return &n->tensor;
}

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
                    lab__unary_rows[op], NULL);
}

static lab__row_fn binary_row(lab__binary_op op, const lab_tensor *a,
                              const lab_tensor *b)
{
    if (op == LAB__EQ)
        return lab__eq_row((lab_dtype)a->kind);
    if (op == LAB__MUL && a->kind == LAB_FLOAT32 && b->kind == LAB_BOOL)
        return lab__mask_row;
    return (a->kind == LAB_INT64 ? lab__int_rows : lab__float_rows)[op];
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
                    binary_row(op, a, b),
                    is_int ? (const void *)&as_int : (const void *)&as_float);
}

void lab__scalar(lab__binary_op op, lab_tensor *out, const lab_tensor *a,
                 double b)
{
    struct number n;

    lab__binary(op, out, a,
                number_make(&n, out->storage->session, (lab_dtype)a->kind, b),
                1);
}

void lab__scalar_first(lab__binary_op op, lab_tensor *out, double a,
                       const lab_tensor *b)
{
    struct number n;

    lab__binary(op, out,
                number_make(&n, out->storage->session, (lab_dtype)b->kind, a),
                b, 1);
}

void lab__addcmul(lab_tensor *out, const lab_tensor *b, const lab_tensor *c,
                  double value)
{
    const lab_tensor *all[] = {out, b, c};
    float factor = (float)value;

    elementwise_run(3, all, GRAIN_CHEAP, lab__addcmul_row, &factor);
}

void lab__addcdiv(lab_tensor *out, const lab_tensor *b, const lab_tensor *c,
                  double value)
{
    const lab_tensor *all[] = {out, b, c};
    float factor = (float)value;

    elementwise_run(3, all, GRAIN_CHEAP, lab__addcdiv_row, &factor);
}
