/* raw_order_kernels.c - elements in another order or number: triangles, flips,
 * repetitions. */
#include "tensor/element.h"
#include "kernels/nn_kernels.h"

void lab__triangle(lab_tensor *out, const lab_tensor *t, int64_t diagonal,
                   bool upper)
{
    int64_t rows = t->sizes[t->ndim - 2], columns = t->sizes[t->ndim - 1];
    int64_t count = lab_numel(t);

    if (!LAB__READABLE(out, t))
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t over = i % columns - i / columns % rows - diagonal;
        bool stays = upper ? over >= 0 : over <= 0;

        lab__put(out, i, stays ? lab__get(t, i) : 0);
    }
}

/* The offset of element i of the larger tensor in the smaller one. */
static int64_t origin(int64_t i, const lab_tensor *big, const lab_tensor *small)
{
    int64_t offset = 0;

    for (int d = big->ndim; d-- > 0;) {
        offset += i % big->sizes[d] % small->sizes[d] * small->strides[d];
        i /= big->sizes[d];
    }
    return offset;
}

void lab__repeat(lab_tensor *big, const lab_tensor *small)
{
    int64_t count = lab_numel(big);

    if (!LAB__READABLE(big, small))
        return;
    for (int64_t i = 0; i < count; i++)
        lab__put(big, i, lab__get(small, origin(i, big, small)));
}

void lab__repeat_sum(lab_tensor *small, const lab_tensor *big)
{
    int64_t count = lab_numel(big);

    if (!LAB__READABLE(big, small))
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = origin(i, big, small);

        lab__put(small, at, lab__get(small, at) + lab__get(big, i));
    }
}
