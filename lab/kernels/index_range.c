/* index_range.c - checks that indices are in range. */
#include "kernels/nn_kernels.h"

bool lab__index_outside(const lab_tensor *index, int64_t lowest, int64_t rows,
                        const int64_t *allowed, int64_t *value)
{
    const int64_t *at;
    int64_t count = lab_numel(index);

    if (!lab__readable(index) || count == 0)
        return false;
    at = lab__data(index);
    for (int64_t i = 0; i < count; i++) {
        if (at[i] >= lowest && at[i] < rows)
            continue;
        if (allowed != NULL && at[i] == *allowed)
            continue;
        *value = at[i];
        return true;
    }
    return false;
}
