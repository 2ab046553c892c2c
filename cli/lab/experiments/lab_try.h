/* lab_try.h - functions of the lab's calls as the list of their steps: a call
 * that fails ends them, and owned tensors are dropped. */
#pragma once

#include <larder/lab.h>

/* Return the result of a call, unless it is LARDER_OK. */
#define LAB_TRY(call)                                                          \
    do {                                                                       \
        larder_result try_ = (call);                                           \
                                                                               \
        if (try_ != LARDER_OK)                                                 \
            return try_;                                                       \
    } while (0)

/* Before the declaration of a tensor, which sets it: its reference is dropped at
 * the end of the block, after those of the tensors declared behind it. */
#define LAB_OWNED __attribute__((cleanup(lab_drop)))

static inline void lab_drop(lab_tensor **t)
{
    lab_unref(*t);
    *t = NULL;
}

/* Move an owned tensor to *out. */
static inline larder_result lab_give(lab_tensor **t, lab_tensor **out)
{
    *out = *t;
    *t = NULL;
    return LARDER_OK;
}

/* Rebind *t as Python does: the call stores the new value in `made`, and only then
 * is the old one dropped. */
#define LAB_REBIND(t, call)                                                    \
    do {                                                                       \
        lab_tensor *made;                                                      \
                                                                               \
        LAB_TRY(call);                                                         \
        lab_unref(*(t));                                                       \
        *(t) = made;                                                           \
    } while (0)
