/* op.c - functions that operations share. */
#include "ops/op.h"

larder_result lab__done(lab_tensor **made, lab_tensor **out)
{
    lab__round(*made);
    return lab__give(made, out);
}

larder_result lab__recorded(const struct lab__recording *what,
                            lab_tensor **made, lab_tensor **out)
{
    LAB__TRY(lab__record(what, *made));
    return lab__done(made, out);
}

void lab__operands_saved(lab_tensor *a, lab_tensor *b, bool is_quotient,
                         lab_tensor *saved[2])
{
    saved[0] = lab_requires_grad(b) ? a : NULL;
    saved[1] = is_quotient || lab_requires_grad(a) ? b : NULL;
}

larder_result lab__empty_as(const lab_tensor *t, lab_dtype dtype,
                            lab_place place, lab_tensor **out)
{
    LAB__TRY(lab__tensor_new(t->storage->session, dtype, place, t->ndim,
                             t->sizes, out));
    lab__lay_out(*out, 1, &t);
    return LARDER_OK;
}

larder_result lab__zeros_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                            lab_tensor **out)
{
    return lab_zeros(t->storage->session, t->dtype, t->storage->place, ndim,
                     sizes, out);
}

larder_result lab__as_is(lab_tensor *t, lab_tensor **out)
{
    *out = lab_ref(t);
    return LARDER_OK;
}

larder_result lab__ints_of(const lab_tensor *t, int ndim, const int64_t *sizes,
                           lab_tensor **out)
{
    return lab__tensor_new(t->storage->session, LAB_INT64, t->storage->place,
                           ndim, sizes, out);
}

larder_result lab__check_part_dim(const char *op, const lab_tensor *t, int *dim)
{
    if (t->ndim == 0)
        return lab__invalid("%s: a tensor without dimensions cannot be indexed",
                            op);
    return lab__check_dim(op, t, dim);
}

/* ---- layers and losses -------------------------------------------------- */

larder_result lab__nn_dense(lab_tensor *t, lab_tensor **out)
{
    LAB__OWNED lab_tensor *made = NULL;

    if (t == NULL || lab_is_contiguous(t)) {
        *out = t != NULL ? lab_ref(t) : NULL;
        return LARDER_OK;
    }
    LAB__TRY(lab__tensor_like(t, &made));
    LAB__TRY(lab__copy(made, t));
    return lab__done(&made, out);
}

larder_result lab__dense_all(int count, lab_tensor *const *ts,
                             struct lab__dense *out)
{
    for (int i = 0; i < count; i++)
        LAB__TRY(lab__nn_dense(ts[i], &out->t[i]));
    return LARDER_OK;
}

void lab__dense_drop(struct lab__dense *dense)
{
    for (int i = 0; i < LAB_MAX_DIMS; i++)
        lab__drop(&dense->t[i]);
}

larder_result lab__nn_check_ndim(const char *op, const char *what,
                                 const lab_tensor *t, int ndim)
{
    char text[LAB__SHAPE_TEXT];

    if (lab_ndim(t) == ndim)
        return LARDER_OK;
    return lab__invalid("%s: %s must have %d dimension%s, has sizes %s", op,
                        what, ndim, ndim == 1 ? "" : "s",
                        lab__shape_text(lab_ndim(t), lab_sizes(t), text));
}

larder_result lab__nn_check_index(const char *op, const lab_tensor *t)
{
    if (t->kind == LAB_INT64)
        return LARDER_OK;
    return lab__invalid("%s: indices must be int64, these are %s", op,
                        lab__dtype_name(lab_dtype_of(t)));
}

larder_result lab__nn_check_part(const char *op, const lab_tensor *like,
                                 const lab_tensor *t)
{
    if (t == NULL)
        return LARDER_OK;
    LAB__TRY(lab__check_float(op, t));
    return lab__check_place(op, like, t);
}

/* ---- windows ------------------------------------------------------------ */

larder_result lab__window_check(const char *op, const lab_tensor *x,
                                const lab_window *win)
{
    if (win->size != sizeof *win)
        return lab__invalid("lab_window has %zu bytes, this library's has %zu",
                            win->size, sizeof *win);
    LAB__TRY(lab__check_float(op, x));
    LAB__TRY(lab__nn_check_ndim(op, "the input", x, 4));
    for (int i = 0; i < 2; i++) {
        if (win->stride[i] < 1 || win->dilation[i] < 1 || win->padding[i] < 0 ||
            win->kernel[i] < 0)
            return lab__invalid(
                "%s: windows of %lld, a stride of %lld, padding of %lld and "
                "dilation of %lld cannot be combined",
                op, (long long)win->kernel[i], (long long)win->stride[i],
                (long long)win->padding[i], (long long)win->dilation[i]);
    }
    return LARDER_OK;
}

/* How many windows fit along one side. */
static int64_t windows_along(const lab_window *win, int side, int64_t length)
{
    int64_t room = length + 2 * win->padding[side] -
                   win->dilation[side] * (win->kernel[side] - 1) - 1;
    int64_t stride = win->stride[side], count;

    if (win->kernel[side] == 0)
        return stride;
    if (room < 0)
        return 0;
    count = (win->rounds_up ? room + stride - 1 : room) / stride + 1;
    /* The last window must begin in the image or before it. */
    if (win->rounds_up && (count - 1) * stride >= length + win->padding[side])
        count--;
    return count;
}

larder_result lab__window_sizes(const char *op, const lab_tensor *x,
                                const lab_window *win, int64_t sizes[4])
{
    for (int i = 0; i < 2; i++) {
        int64_t length = x->sizes[2 + i];

        if (win->transposed)
            sizes[2 + i] = (length - 1) * win->stride[i] - 2 * win->padding[i] +
                           win->dilation[i] * (win->kernel[i] - 1) +
                           win->output_padding[i] + 1;
        else
            sizes[2 + i] = windows_along(win, i, length);
        if (sizes[2 + i] < 1)
            return lab__invalid("%s: no window fits: %lld elements, padding "
                                "%lld, a window of %lld",
                                op, (long long)length,
                                (long long)win->padding[i],
                                (long long)win->kernel[i]);
    }
    return LARDER_OK;
}
