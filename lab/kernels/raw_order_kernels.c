/* raw_order_kernels.c - elements in another order or number: triangles, flips,
 * repetitions. */
#include <string.h>

#include "tensor/element.h"
#include "kernels/nn_kernels.h"

static int64_t limited(int64_t n, int64_t least, int64_t most)
{
    if (n < least)
        return least;
    return n < most ? n : most;
}

/* By lines: the mask of an attention has as many elements as its scores. */
void lab__triangle(lab_tensor *out, const lab_tensor *t, int64_t diagonal,
                   bool upper)
{
    int64_t rows = t->sizes[t->ndim - 2], columns = t->sizes[t->ndim - 1];
    int64_t count = lab_numel(t), size = (int64_t)lab__dtype_bytes(t->kind);
    int64_t first = limited(diagonal, -rows, columns);
    char *line = lab__data(out);

    if (!LAB__READABLE(out, t) || count == 0)
        return;
    memmove(line, lab__data(t), (size_t)(count * size));
    for (int64_t i = 0; i < count / columns; i++) {
        int64_t edge = limited(i % rows + first + !upper, 0, columns);

        if (upper)
            memset(line, 0, (size_t)(edge * size));
        else
            memset(line + edge * size, 0, (size_t)((columns - edge) * size));
        line += columns * size;
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
