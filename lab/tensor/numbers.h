/* numbers.h - conversions between kinds of numbers, defined for every value. */
#ifndef LARDER_LAB_TENSOR_NUMBERS_H
#define LARDER_LAB_TENSOR_NUMBERS_H

#include <stdint.h>

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

#endif
