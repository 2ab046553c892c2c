/* dropout_kernels.c - selects the elements to keep, and scales them. */
#include "kernels/kernels.h"
#include "kernels/nn_kernels.h"

enum { GRAIN_ELEMENTS = 65536 };

struct drop {
    const float *uniform;
    float *values;
    unsigned char *mask;
    float p, scale;
};

static void mask_piece(void *context, int64_t begin, int64_t end)
{
    const struct drop *d = context;

    for (int64_t i = begin; i < end; i++)
        d->mask[i] = d->uniform[i] >= d->p;
}

void lab__dropout_mask(lab_tensor *mask, const lab_tensor *uniform, double p)
{
    struct drop d = {.uniform = lab__floats(uniform),
                     .mask = lab__data(mask),
                     .p = (float)p};

    if (LAB__READABLE(mask, uniform))
        lab__parallel(lab_session(mask), lab_numel(mask), GRAIN_ELEMENTS,
                      mask_piece, &d);
}

/* By multiplication rather than selection, so that NaN stays NaN, as in
 * PyTorch. */
static void apply_piece(void *context, int64_t begin, int64_t end)
{
    const struct drop *d = context;

    for (int64_t i = begin; i < end; i++)
        d->values[i] *= (float)d->mask[i] * d->scale;
}

void lab__dropout_apply(lab_tensor *t, const lab_tensor *mask, double scale)
{
    struct drop d = {.values = lab__floats(t),
                     .mask = lab__data(mask),
                     .scale = (float)scale};

    if (LAB__READABLE(t, mask))
        lab__parallel(lab_session(t), lab_numel(t), GRAIN_ELEMENTS, apply_piece,
                      &d);
}
