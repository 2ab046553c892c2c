/* windows.h - tensors in every memory layout, and plain access to their
 * elements: for tests of the kernels.  Header only. */
#pragma once

#include <math.h>

#include "lab_rig.h"
#include "tensor/tensor.h"

static uint64_t windows_state = 1;

/* Below n; the same sequence in every run. */
static inline int64_t windows_dice(int64_t n)
{
    windows_state = windows_state * UINT64_C(6364136223846793005) +
                    UINT64_C(1442695040888963407);
    return (int64_t)(windows_state >> 33) % n;
}

/* On the device, contiguous, not filled. */
static inline lab_tensor *windows_plain(lab *l, lab_dtype dtype, int ndim,
                                        const int64_t *sizes)
{
    lab_tensor *t = NULL;

    lab_assert_ok(lab_empty(l, dtype, LAB_DEVICE, ndim, sizes, &t));
    return t;
}

static inline void windows_fill(lab_tensor *t)
{
    int64_t n = (int64_t)(lab_storage_bytes(t) / sizeof(float));
    float *data = (float *)(uintptr_t)t->storage->address;

    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(windows_dice(2001) - 1000) / 250;
}

/* A view of these sizes whose dimensions are in any order in memory, some with
 * gaps; with `may_repeat`, some have stride 0. */
static inline lab_tensor *windows_make(lab *l, int ndim, const int64_t *sizes,
                                       bool may_repeat)
{
    int64_t strides[LAB_MAX_DIMS];
    int64_t next = windows_dice(4) == 0 ? 1 + windows_dice(3) : 1;
    int order[LAB_MAX_DIMS];
    lab_tensor *base, *t = NULL;

    for (int i = 0; i < ndim; i++)
        order[i] = i;
    for (int i = ndim; i-- > 1 && windows_dice(2) == 0;) {
        int j = (int)windows_dice(i + 1), keep = order[i];

        order[i] = order[j];
        order[j] = keep;
    }
    for (int i = ndim; i-- > 0;) {
        strides[order[i]] = next;
        next *= sizes[order[i]];
        next += windows_dice(4) == 0 ? windows_dice(3) : 0;
    }
    if (may_repeat && ndim > 0 && windows_dice(3) == 0)
        strides[windows_dice(ndim)] = 0;
    next++;
    base = windows_plain(l, LAB_FLOAT32, 1, &next);
    windows_fill(base);
    lab_assert_ok(lab__tensor_window(base, ndim, sizes, strides,
                                     next > 2 ? windows_dice(2) : 0, &t));
    lab_unref(base);
    return t;
}

/* Up to `most` random sizes; returns how many. */
static inline int windows_sizes(int64_t *sizes, int most)
{
    int ndim = (int)windows_dice(most + 1);

    for (int i = 0; i < ndim; i++)
        sizes[i] = 1 + windows_dice(windows_dice(3) == 0 ? 40 : 5);
    return ndim;
}

/* Row-major element n of `like`'s sizes, in t broadcast to them. */
static inline double windows_at(const lab_tensor *t, const lab_tensor *like,
                                int64_t n)
{
    int64_t offset = 0;

    for (int i = like->ndim; i-- > 0;) {
        int own = i - (like->ndim - t->ndim);

        if (own >= 0 && t->sizes[own] != 1)
            offset += n % like->sizes[i] * t->strides[own];
        n /= like->sizes[i];
    }
    if (t->dtype == LAB_INT64)
        return (double)((const int64_t *)lab__data(t))[offset];
    if (t->dtype == LAB_BOOL)
        return ((const unsigned char *)lab__data(t))[offset];
    return (double)lab__floats(t)[offset];
}

/* Fails unless both are NaN, or equal within `allowed` times 1 or the wanted
 * value. */
static inline void windows_near(const char *what, int64_t n, double got,
                                double want, double allowed)
{
    if (isnan(want) && isnan(got))
        return;
    if (got == want || fabs(got - want) <= allowed * (fabs(want) + 1))
        return;
    fail_msg("%s: element %d is %.9g, not %.9g", what, (int)n, got, want);
}
