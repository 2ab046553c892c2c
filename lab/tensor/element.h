/* element.h - access to one element of a tensor of any kind, conversions between kinds
 * that are defined for every value, and the lines of a contiguous tensor along one dimension. */
#pragma once

#include <string.h>

#include "tensor/tensor.h"

/* Rounds towards 0, clamps values that are too large, and converts NaN to 0. */
static inline int64_t lab__to_int64(double x)
{
    const double limit = 9223372036854775808.0;

    if (x != x)
        return 0;
    if (x >= limit)
        return INT64_MAX;
    return x <= -limit ? INT64_MIN : (int64_t)x;
}

static inline double lab__element(const void *data, unsigned char kind,
                                  int64_t i)
{
    if (kind == LAB_FLOAT32)
        return (double)((const float *)data)[i];
    if (kind == LAB_INT64)
        return (double)((const int64_t *)data)[i];
    return ((const unsigned char *)data)[i] != 0;
}

/* The same of whole numbers and masks, exactly. */
static inline int64_t lab__whole(const void *data, unsigned char kind,
                                 int64_t i)
{
    return kind == LAB_INT64 ? ((const int64_t *)data)[i]
                             : ((const unsigned char *)data)[i] != 0;
}

static inline void lab__element_set(void *data, unsigned char kind, int64_t i,
                                    double x)
{
    if (kind == LAB_FLOAT32)
        ((float *)data)[i] = (float)x;
    else if (kind == LAB_INT64)
        ((int64_t *)data)[i] = lab__to_int64(x);
    else
        ((unsigned char *)data)[i] = x != 0;
}

/* The same of a tensor that can be read; i is an offset. */
static inline double lab__get(const lab_tensor *t, int64_t i)
{
    return lab__element(lab__data(t), t->kind, i);
}

static inline void lab__put(lab_tensor *t, int64_t i, double x)
{
    lab__element_set(lab__data(t), t->kind, i, x);
}

/* Copy one to a tensor of the same kind, exactly; both are offsets. */
static inline void lab__move(lab_tensor *to, int64_t at, const lab_tensor *from,
                             int64_t i)
{
    size_t bytes = lab__dtype_bytes(from->kind);

    memcpy((char *)lab__data(to) + (size_t)at * bytes,
           (const char *)lab__data(from) + (size_t)i * bytes, bytes);
}

/* The offset of element number i of a tensor with these sizes and strides. */
static inline int64_t lab__offset_of(int64_t i, int ndim, const int64_t *sizes,
                                     const int64_t *strides)
{
    int64_t offset = 0;

    for (int d = ndim; d-- > 0;) {
        offset += i % sizes[d] * strides[d];
        i /= sizes[d];
    }
    return offset;
}

/* Lines along dim: line i begins at lab__line_begin(), and its elements are
 * `inner` apart. */
struct lab__lines {
    int64_t count, length, inner;
};

static inline struct lab__lines lab__lines_of(const lab_tensor *t, int dim)
{
    struct lab__lines lines = {1, 1, 1};

    for (int d = 0; d < t->ndim; d++) {
        if (d == dim)
            lines.length = t->sizes[d];
        else
            lines.count *= t->sizes[d];
        if (d > dim)
            lines.inner *= t->sizes[d];
    }
    return lines;
}

static inline int64_t lab__line_begin(const struct lab__lines *lines, int64_t i)
{
    return i / lines->inner * lines->inner * lines->length + i % lines->inner;
}
