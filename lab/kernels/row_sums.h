/* row_sums.h - sums over a row of floats, in several lanes for vectorisation,
 * and in double so that long rows stay exact. */
#pragma once

#include <stdint.h>

#include "tensor/wide.h"

enum { LAB__LANES = 8 };

LAB__INLINE double lab__lanes_total(const double *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* Σ of `term`, an expression in `at`, for at from 0 to n - 1. */
#define LAB__ROW_SUM(total, n, term)                                           \
    do {                                                                       \
        double lanes_[LAB__LANES] = {0};                                       \
        int64_t done_ = 0;                                                     \
        for (; done_ + LAB__LANES <= (n); done_ += LAB__LANES) {               \
            for (int lane_ = 0; lane_ < LAB__LANES; lane_++) {                 \
                const int64_t at = done_ + lane_;                              \
                lanes_[lane_] += (double)(term);                               \
            }                                                                  \
        }                                                                      \
        for (; done_ < (n); done_++) {                                         \
            const int64_t at = done_;                                          \
            lanes_[done_ % LAB__LANES] += (double)(term);                      \
        }                                                                      \
        (total) = lab__lanes_total(lanes_);                                    \
    } while (0)
