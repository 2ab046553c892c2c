/* loss_kernels.c - the negative log-likelihood of classes. */
#include "kernels/nn_kernels.h"

void lab__nll_forward(lab_tensor *out, lab_tensor *total,
                      const lab_tensor *logp, const lab_tensor *target,
                      int64_t ignored)
{
    int64_t rows = logp->sizes[0], classes = logp->sizes[1], counted = 0;
    const int64_t *class;
    const float *in;
    double sum = 0;

    if (!LAB__READABLE(out, total, logp, target))
        return;
    class = lab__data(target);
    in = lab__floats(logp);
    for (int64_t i = 0; i < rows; i++) {
        if (class[i] == ignored)
            continue;
        sum -= in[i * classes + class[i]];
        counted++;
    }
    *lab__floats(total) = (float)counted;
    *lab__floats(out) = (float)(sum / (double)counted);
}

void lab__nll_backward(lab_tensor *out, const lab_tensor *grad,
                       const lab_tensor *target, const lab_tensor *total,
                       int64_t ignored)
{
    int64_t rows = out->sizes[0], classes = out->sizes[1];
    const int64_t *class;
    float *to, value;

    if (!LAB__READABLE(out, grad, target, total))
        return;
    class = lab__data(target);
    to = lab__floats(out);
    value = -*lab__floats(grad) / *lab__floats(total);
    for (int64_t i = 0; i < rows; i++) {
        if (class[i] != ignored)
            to[i * classes + class[i]] = value;
    }
}
