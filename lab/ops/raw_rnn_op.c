/* raw_rnn_op.c - recurrent layers, not recorded. */
#include "kernels/nn_kernels.h"
#include "ops/op.h"

/* rows × columns, in x's place, contiguous; NULL is accepted if optional. */
static larder_result part_check(const lab_tensor *x, const lab_tensor *t,
                                const char *what, int64_t rows, int64_t columns)
{
    bool fits;

    if (t == NULL)
        return LARDER_OK;
    LAB__TRY(lab__nn_check_part("rnn", x, t));
    fits = columns == 0
               ? t->ndim == 1 && t->sizes[0] == rows
               : t->ndim == 2 && t->sizes[0] == rows && t->sizes[1] == columns;
    if (fits && lab_is_contiguous(t))
        return LARDER_OK;
    return lab__invalid("rnn: the %s must be contiguous, of %lld rows of %lld",
                        what, (long long)rows,
                        (long long)(columns == 0 ? 1 : columns));
}

static larder_result lengths_check(const lab_rnn *rnn, const lab_tensor *x)
{
    for (int64_t i = 0; rnn->lengths != NULL && i < x->sizes[1]; i++) {
        if (rnn->lengths[i] < 1 || rnn->lengths[i] > x->sizes[0])
            return lab__invalid("rnn: a row has %lld steps; expected 1 to %lld",
                                (long long)rnn->lengths[i],
                                (long long)x->sizes[0]);
    }
    return LARDER_OK;
}

static larder_result rnn_check(const lab_rnn *rnn, const lab_tensor *x,
                               const lab_tensor *out)
{
    int64_t hidden, rows;

    if (rnn->size != sizeof *rnn)
        return lab__invalid("lab_rnn has %zu bytes, this library's has %zu",
                            rnn->size, sizeof *rnn);
    if (rnn->w_x == NULL || rnn->w_h == NULL || rnn->h == NULL ||
        (rnn->cell == LAB_LSTM && rnn->c == NULL))
        return lab__invalid("rnn: weights or state missing");
    LAB__TRY(lab__nn_check_ndim("rnn", "the input", x, 3));
    LAB__TRY(lab__check_float("rnn", x));
    LAB__TRY(lab__nn_check_ndim("rnn", "the output", out, 3));
    LAB__TRY(lab__nn_check_ndim("rnn", "the weight of h", rnn->w_h, 2));
    hidden = rnn->w_h->sizes[1];
    rows = lab__cell_gates(rnn->cell) * hidden;
    if (!lab_is_contiguous(x) || !lab_is_contiguous(out) || rnn->at < 0 ||
        rnn->at + hidden > out->sizes[2] || out->sizes[0] != x->sizes[0] ||
        out->sizes[1] != x->sizes[1])
        return lab__invalid("rnn: input and output must be contiguous, of the "
                            "same steps and rows, with room for %lld at %lld",
                            (long long)hidden, (long long)rnn->at);
    LAB__TRY(part_check(x, rnn->w_h, "weight of h", rows, hidden));
    LAB__TRY(part_check(x, rnn->w_x, "weight of x", rows, x->sizes[2]));
    LAB__TRY(part_check(x, rnn->b_x, "bias of x", rows, 0));
    LAB__TRY(part_check(x, rnn->b_h, "bias of h", rows, 0));
    LAB__TRY(part_check(x, rnn->h, "initial h", x->sizes[1], hidden));
    LAB__TRY(part_check(x, rnn->c, "initial c", x->sizes[1], hidden));
    return lengths_check(rnn, x);
}

larder_result lab_raw_rnn(const lab_rnn *rnn, lab_tensor *x, lab_tensor *out,
                          lab_tensor *h_last, lab_tensor *c_last,
                          lab_tensor *kept)
{
    int64_t hidden;

    LAB__TRY(rnn_check(rnn, x, out));
    hidden = rnn->w_h->sizes[1];
    LAB__TRY(part_check(x, h_last, "last h", x->sizes[1], hidden));
    LAB__TRY(part_check(x, c_last, "last c", x->sizes[1], hidden));
    return lab__rnn_forward(rnn, x, out, h_last, c_last, kept);
}

larder_result lab_raw_rnn_backward(const lab_rnn *rnn, lab_tensor *x,
                                   lab_tensor *out, lab_tensor *kept,
                                   lab_tensor *grad_out, lab_tensor *grad_h,
                                   lab_tensor *grad_c, const lab_rnn_grads *to)
{
    LAB__TRY(rnn_check(rnn, x, out));
    if (to->size != sizeof *to)
        return lab__invalid(
            "lab_rnn_grads has %zu bytes, this library's has %zu", to->size,
            sizeof *to);
    return lab__rnn_backward(rnn, x, out, kept, grad_out, grad_h, grad_c, to);
}
