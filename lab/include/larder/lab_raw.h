/* lab_raw.h - operations without gradients, for front ends that define their
 * own operations and record them with lab_function_record().
 *
 * Like PyTorch's GPU kernels, they make their results and no other tensors
 * except contiguous copies of operands that are not contiguous.  Nothing is
 * recorded for backward, whatever the operands.  If the device has no memory
 * behind its addresses nothing is computed, and operations whose result's size
 * depends on values (lab_raw_nonzero(), lab_raw_bincount()) return
 * ERR_UNSUPPORTED.
 *
 * Errors, ownership and threads are as in lab.h.  A function that writes to one
 * of its tensors says so. */
#ifndef LARDER_LAB_RAW_H
#define LARDER_LAB_RAW_H

#include <larder/lab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element by element ------------------------------------------------ */

/* The number of the operation with this name, which is PyTorch's where it has
 * one: "abs", "lt", "where", "silu_backward"; -1 if there is none.  Numbers may
 * change between versions. */
LARDER_API int lab_raw_find(const char *name);
/* The number of tensors it takes: 1 to 3. */
LARDER_API int lab_raw_arity(int op);

/* Operands are broadcast and may have any types.  The result has their common
 * type under PyTorch's promotion rules, and bool for comparisons. p and q are
 * the operation's numbers (a slope, bounds), 0 if it has none. */
LARDER_API larder_result lab_raw_map(int op, lab_tensor *const *operands,
                                     double p, double q, lab_tensor **out);
/* Writes to `to`; operands are broadcast to its sizes, and it may be one of
 * them. */
LARDER_API larder_result lab_raw_map_into(int op, lab_tensor *const *operands,
                                          double p, double q, lab_tensor *to);

/* ---- reductions --------------------------------------------------------- */

typedef enum lab_reduction {
    LAB_SUM = 0, /* of integers and masks in int64 */
    LAB_PROD = 1,
    LAB_AMAX = 2,
    LAB_AMIN = 3,
    LAB_ANY = 4,  /* bool */
    LAB_ALL = 5,  /* bool */
    LAB_VAR = 6,  /* p: the correction, N - p */
    LAB_STD = 7,  /* the same */
    LAB_NORM = 8, /* p: its order */
    LAB_LOGSUMEXP = 9,
    LAB_COUNT_NONZERO = 10 /* int64 */
} lab_reduction;

/* Over the dimensions whose bit is set in dims. */
LARDER_API larder_result lab_raw_reduce(lab_reduction op, lab_tensor *t,
                                        unsigned dims, bool keep, double p,
                                        lab_tensor **out);
/* The maximum or minimum along dim and its index (int64); `values` may be
 * NULL. */
LARDER_API larder_result lab_raw_extreme(lab_tensor *t, int dim, bool largest,
                                         bool keep, lab_tensor **values,
                                         lab_tensor **indices);
/* Running sums or products (LAB_SUM, LAB_PROD). */
LARDER_API larder_result lab_raw_scan(lab_reduction op, lab_tensor *t, int dim,
                                      lab_tensor **out);
/* The first `count` along dim in sorted order; equal elements keep their
 * order. */
LARDER_API larder_result lab_raw_sort(lab_tensor *t, int dim, bool descending,
                                      int64_t count, lab_tensor **values,
                                      lab_tensor **indices);

/* ---- by index ----------------------------------------------------------- */

/* out[i][j] = t[index[i][j]][j] for dim 0, and so on, like torch.gather. */
LARDER_API larder_result lab_raw_gather(lab_tensor *t, int dim,
                                        lab_tensor *index, lab_tensor **out);
/* t[index[i][j]][j] = src[i][j], or += if `add`; writes to t.  If `src` is
 * NULL, `number` is used instead. */
LARDER_API larder_result lab_raw_scatter(lab_tensor *t, int dim,
                                         lab_tensor *index, lab_tensor *src,
                                         double number, bool add);
/* t[:, i, j]: `count` index tensors, which are broadcast, applied from
 * dimension `dim` on. */
LARDER_API larder_result lab_raw_index(lab_tensor *t, int dim,
                                       lab_tensor *const *indices, int count,
                                       lab_tensor **out);
/* t[:, i, j] = src, broadcast, or += if `add`; writes to t. */
LARDER_API larder_result lab_raw_index_put(lab_tensor *t, int dim,
                                           lab_tensor *const *indices,
                                           int count, lab_tensor *src,
                                           bool add);
/* The indices of the elements that are not 0, one row each (int64). */
LARDER_API larder_result lab_raw_nonzero(lab_tensor *t, lab_tensor **out);
/* How often each integer from 0 on occurs, or the sum of its weights.
 * `min_length` is the minimum length of the result. */
LARDER_API larder_result lab_raw_bincount(lab_tensor *t, lab_tensor *weights,
                                          int64_t min_length, lab_tensor **out);
/* `count` indices drawn for each row (or the only row) of weights, int64. */
LARDER_API larder_result lab_raw_multinomial(lab_tensor *t, int64_t count,
                                             bool replacement,
                                             lab_tensor **out);

/* ---- another order ------------------------------------------------------ */

/* Copies the elements on and below the diagonal (or on and above it, if
 * `upper`) and sets the rest to zero. */
LARDER_API larder_result lab_raw_triangle(lab_tensor *t, int64_t diagonal,
                                          bool upper, lab_tensor **out);
LARDER_API larder_result lab_raw_flip(lab_tensor *t, unsigned dims,
                                      lab_tensor **out);
/* Like torch's repeat(); the second sums the copies again, for its gradient. */
LARDER_API larder_result lab_raw_repeat(lab_tensor *t, int ndim,
                                        const int64_t *repeats,
                                        lab_tensor **out);
LARDER_API larder_result lab_raw_repeat_backward(lab_tensor *grad, int ndim,
                                                 const int64_t *sizes,
                                                 lab_tensor **out);

/* ---- windows over images: N×C×H×W --------------------------------------- */

typedef struct lab_window {
    size_t size; /* sizeof(lab_window) */
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t output_padding[2]; /* of transposed convolutions */
    int64_t groups;
    bool transposed;
    bool counts_padding; /* averages: padding zeros count as elements */
    bool rounds_up;      /* a last window may reach past the padding */
} lab_window;

/* b may be NULL; w: O×C/groups×KH×KW, transposed C×O/groups×KH×KW. */
LARDER_API larder_result lab_raw_conv2d(lab_tensor *x, lab_tensor *w,
                                        lab_tensor *b, const lab_window *win,
                                        lab_tensor **out);
/* The gradient of x, which has these four sizes. */
LARDER_API larder_result lab_raw_conv2d_input(lab_tensor *grad, lab_tensor *w,
                                              const lab_window *win,
                                              const int64_t *sizes,
                                              lab_tensor **out);
LARDER_API larder_result lab_raw_conv2d_weight(lab_tensor *grad, lab_tensor *x,
                                               const lab_window *win,
                                               const int64_t *sizes,
                                               lab_tensor **out);
LARDER_API larder_result lab_raw_max_pool2d(lab_tensor *x,
                                            const lab_window *win,
                                            lab_tensor **out,
                                            lab_tensor **indices);
LARDER_API larder_result lab_raw_max_pool2d_backward(lab_tensor *grad,
                                                     lab_tensor *indices,
                                                     const int64_t *sizes,
                                                     lab_tensor **out);
/* If `kernel` is 0, there are as many windows as `stride` says, and they cover
 * the image. */
LARDER_API larder_result lab_raw_avg_pool2d(lab_tensor *x,
                                            const lab_window *win,
                                            lab_tensor **out);
LARDER_API larder_result lab_raw_avg_pool2d_backward(lab_tensor *grad,
                                                     const lab_window *win,
                                                     const int64_t *sizes,
                                                     lab_tensor **out);
/* Resize to `to` = {height, width}: the nearest element, or interpolated if
 * `linear`. */
LARDER_API larder_result lab_raw_resize2d(lab_tensor *x, const int64_t *to,
                                          bool linear, bool align_corners,
                                          lab_tensor **out);
LARDER_API larder_result lab_raw_resize2d_backward(lab_tensor *grad,
                                                   const int64_t *sizes,
                                                   bool linear,
                                                   bool align_corners,
                                                   lab_tensor **out);

/* ---- normalisation ------------------------------------------------------ */

/* x: N×C×….  Normalizes each channel over the batch if groups is 0, otherwise
 * each group of channels of each image. w and b have C elements, or are NULL.
 * mean and rstd are created if *mean is NULL and used as they are otherwise. */
LARDER_API larder_result lab_raw_normalize(lab_tensor *x, int64_t groups,
                                           lab_tensor *w, lab_tensor *b,
                                           double eps, lab_tensor **mean,
                                           lab_tensor **rstd, lab_tensor **out);
/* Gradients of x, w and b, each if its pointer is not NULL. `live`: mean and
 * rstd depended on x. */
LARDER_API larder_result lab_raw_normalize_backward(
    lab_tensor *grad, lab_tensor *x, int64_t groups, lab_tensor *w,
    lab_tensor *mean, lab_tensor *rstd, bool live, lab_tensor **grad_x,
    lab_tensor **grad_w, lab_tensor **grad_b);

/* ---- recurrent networks ------------------------------------------------- */

typedef enum lab_cell {
    LAB_RNN_TANH = 0,
    LAB_RNN_RELU = 1,
    LAB_LSTM = 2,
    LAB_GRU = 3
} lab_cell;

/* One direction of one layer over all of x (T×N×I), starting from h (and an
 * LSTM's c), N×H; `backwards`: from the last step to the first. w_x: G·H×I,
 * w_h: G·H×H, b_x and b_h G·H or NULL, with G 1, 4 (LSTM), 3 (GRU).  Writes
 * each step's h to columns at … at + H of out (T×N×…), and the last h and c to
 * h_last and c_last (N×H). `kept` (T×N×(G + 1)·H) receives what
 * lab_raw_rnn_backward() needs; NULL if no backward pass follows. `lengths`,
 * unless NULL, holds the number of steps of each row, 1 to T: the row ends
 * there (backwards: begins there) and is followed by zeros. */
typedef struct lab_rnn {
    size_t size; /* sizeof(lab_rnn) */
    lab_cell cell;
    bool backwards;
    int64_t at;
    lab_tensor *w_x, *w_h, *b_x, *b_h, *h, *c;
    const int64_t *lengths;
} lab_rnn;

LARDER_API larder_result lab_raw_rnn(const lab_rnn *rnn, lab_tensor *x,
                                     lab_tensor *out, lab_tensor *h_last,
                                     lab_tensor *c_last, lab_tensor *kept);
/* Adds to those of these gradients that are not NULL: of x, of the weights, of
 * the biases, of h and c. */
typedef struct lab_rnn_grads {
    size_t size; /* sizeof(lab_rnn_grads) */
    lab_tensor *x, *w_x, *w_h, *b_x, *b_h, *h, *c;
} lab_rnn_grads;

LARDER_API larder_result lab_raw_rnn_backward(const lab_rnn *rnn, lab_tensor *x,
                                              lab_tensor *out, lab_tensor *kept,
                                              lab_tensor *grad_out,
                                              lab_tensor *grad_h,
                                              lab_tensor *grad_c,
                                              const lab_rnn_grads *to);

#ifdef __cplusplus
}
#endif

#endif
