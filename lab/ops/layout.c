/* layout.c - the order of a result's dimensions in memory, as PyTorch's
 * element-wise operations choose it.  It matters later, where a reshape must
 * copy or a gradient cannot be taken over. */
#include "ops/op.h"

/* The stride along t's dimension d; 0 if the operand is broadcast. */
static int64_t stride_along(const lab_tensor *t, const lab_tensor *operand,
                            int d)
{
    int own = d - (t->ndim - operand->ndim);

    return own < 0 || operand->sizes[own] != t->sizes[d]
               ? 0
               : operand->strides[own];
}

/* Which dimension is the outer one: a if above 0, b if below 0, undecided if 0.
 * The first operand that distinguishes them decides. */
static int layout_compare(const lab_tensor *t, int count,
                          const lab_tensor *const *operands, int a, int b)
{
    for (int i = 0; i < count; i++) {
        int64_t along_a = stride_along(t, operands[i], a);
        int64_t along_b = stride_along(t, operands[i], b);

        if (along_a == 0 || along_b == 0)
            continue;
        if (along_a != along_b)
            return along_a > along_b ? 1 : -1;
        if (t->sizes[a] > t->sizes[b])
            return 1;
    }
    return 0;
}

/* Row-major at first.  A dimension moves inwards past those that are further
 * out, and past undecided ones before them. */
static void order_find(const lab_tensor *t, int count,
                       const lab_tensor *const *operands, int *order)
{
    for (int i = 0; i < t->ndim; i++)
        order[i] = t->ndim - 1 - i;
    for (int i = 1; i < t->ndim; i++) {
        int at = i;

        for (int j = i - 1; j >= 0; j--) {
            int which = layout_compare(t, count, operands, order[j], order[at]);
            int keep = order[j];

            if (which < 0)
                break;
            if (which == 0)
                continue;
            order[j] = order[at];
            order[at] = keep;
            at = j;
        }
    }
}

/* Whether the layout is the same already, even for dimensions of size 1. */
static bool is_laid_out_as(const lab_tensor *t, const lab_tensor *operand)
{
    return lab__same_sizes(t, operand) && lab__is_dense(operand);
}

void lab__lay_out(lab_tensor *t, int count, const lab_tensor *const *operands)
{
    int order[LAB_MAX_DIMS];
    int64_t next = 1;

    if (lab_numel(t) == 0)
        return;
    if (count == 1 && is_laid_out_as(t, operands[0])) {
        for (int i = 0; i < t->ndim; i++)
            t->strides[i] = operands[0]->strides[i];
        return;
    }
    order_find(t, count, operands, order);
    for (int i = 0; i < t->ndim; i++) {
        t->strides[order[i]] = next;
        next *= t->sizes[order[i]];
    }
}
