/* lab_raw.h - operations without a way back: for fronts that define operations
 * of their own and record them with lab_function_record().
 *
 * They make their results as PyTorch's kernels for a GPU do, and no other
 * tensors, but contiguous copies of operands that are not.  Nothing is recorded
 * for backward, whatever their operands.  Where the device has no memory behind
 * its addresses nothing is computed, and what depends on values
 * (lab_raw_nonzero(), lab_raw_bincount()) is ERR_UNSUPPORTED.
 *
 * Errors, ownership and threads are as in lab.h.  Where a function writes to
 * one of its tensors it says so.
 */
#ifndef LARDER_LAB_RAW_H
#define LARDER_LAB_RAW_H

#include <larder/lab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element by element ------------------------------------------------ */

/* The number of an operation by its name, PyTorch's where it has one: "abs",
 * "lt", "where", "silu_backward"; -1 for none.  Numbers may change from version
 * to version. */
LARDER_API int lab_raw_find(const char *name);
/* How many tensors it takes: 1 to 3. */
LARDER_API int lab_raw_arity(int op);

/* Operands are broadcast, and of any types: the result has the type they meet
 * in as in PyTorch, bool for comparisons.  p and q are the operation's numbers
 * (a slope, bounds), 0 where it has none. */
LARDER_API larder_result lab_raw_map(int op, lab_tensor *const *operands,
                                     double p, double q, lab_tensor **out);
/* Into `to`, which operands are broadcast to and which may be one of them. */
LARDER_API larder_result lab_raw_map_into(int op, lab_tensor *const *operands,
                                          double p, double q, lab_tensor *to);

/* ---- reductions --------------------------------------------------------- */

typedef enum lab_reduction {
    LAB_SUM = 0, /* of whole numbers and masks in int64 */
    LAB_PROD = 1,
    LAB_AMAX = 2,
    LAB_AMIN = 3,
    LAB_ANY = 4,  /* bool */
    LAB_ALL = 5,  /* bool */
    LAB_VAR = 6,  /* p: what is taken off the count */
    LAB_STD = 7,  /* the same */
    LAB_NORM = 8, /* p: its order */
    LAB_LOGSUMEXP = 9,
    LAB_COUNT_NONZERO = 10 /* int64 */
} lab_reduction;

/* Over the dimensions whose bit is set in dims. */
LARDER_API larder_result lab_raw_reduce(lab_reduction op, lab_tensor *t,
                                        unsigned dims, bool keep, double p,
                                        lab_tensor **out);
/* The largest or least along dim, and where it is (int64); `values` may be
 * NULL. */
LARDER_API larder_result lab_raw_extreme(lab_tensor *t, int dim, bool largest,
                                         bool keep, lab_tensor **values,
                                         lab_tensor **indices);
/* Running sums or products (LAB_SUM, LAB_PROD). */
LARDER_API larder_result lab_raw_scan(lab_reduction op, lab_tensor *t, int dim,
                                      lab_tensor **out);
/* The first `count` along dim, in order; equal ones as they come. */
LARDER_API larder_result lab_raw_sort(lab_tensor *t, int dim, bool descending,
                                      int64_t count, lab_tensor **values,
                                      lab_tensor **indices);

/* ---- by index ----------------------------------------------------------- */

/* out[i][j] = t[index[i][j]][j] for dim 0, and so on: as torch.gather. */
LARDER_API larder_result lab_raw_gather(lab_tensor *t, int dim,
                                        lab_tensor *index, lab_tensor **out);
/* t[index[i][j]][j] = src[i][j], or += where `add`; writes to t.  `src` NULL:
 * the number. */
LARDER_API larder_result lab_raw_scatter(lab_tensor *t, int dim,
                                         lab_tensor *index, lab_tensor *src,
                                         double number, bool add);
/* t[:, i, j] for `count` index tensors, which are broadcast, from dimension
 * `dim` on. */
LARDER_API larder_result lab_raw_index(lab_tensor *t, int dim,
                                       lab_tensor *const *indices, int count,
                                       lab_tensor **out);
/* t[:, i, j] = src, broadcast, or += where `add`; writes to t. */
LARDER_API larder_result lab_raw_index_put(lab_tensor *t, int dim,
                                           lab_tensor *const *indices,
                                           int count, lab_tensor *src,
                                           bool add);
/* Where t is not 0: a row of indices for each (int64). */
LARDER_API larder_result lab_raw_nonzero(lab_tensor *t, lab_tensor **out);
/* How often each number from 0 on is there, or the sum of its weights. */
LARDER_API larder_result lab_raw_bincount(lab_tensor *t, lab_tensor *weights,
                                          int64_t least, lab_tensor **out);
/* `count` indices drawn for each row (or the one) of weights, int64. */
LARDER_API larder_result lab_raw_multinomial(lab_tensor *t, int64_t count,
                                             bool replacement,
                                             lab_tensor **out);

/* ---- another order ------------------------------------------------------ */

/* What is on or below the diagonal, or on and above it, and zeros. */
LARDER_API larder_result lab_raw_triangle(lab_tensor *t, int64_t diagonal,
                                          bool upper, lab_tensor **out);
LARDER_API larder_result lab_raw_flip(lab_tensor *t, unsigned dims,
                                      lab_tensor **out);
/* As torch's repeat(), and the sum of what was repeated. */
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
    bool counts_padding; /* averages: zeros of the padding are elements too */
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
/* kernel 0: as many windows as `stride` says, which cover the image. */
LARDER_API larder_result lab_raw_avg_pool2d(lab_tensor *x,
                                            const lab_window *win,
                                            lab_tensor **out);
LARDER_API larder_result lab_raw_avg_pool2d_backward(lab_tensor *grad,
                                                     const lab_window *win,
                                                     const int64_t *sizes,
                                                     lab_tensor **out);
/* To `to` = {height, width}, the nearest or, `linear`, weighed. */
LARDER_API larder_result lab_raw_resize2d(lab_tensor *x, const int64_t *to,
                                          bool linear, bool align_corners,
                                          lab_tensor **out);
LARDER_API larder_result lab_raw_resize2d_backward(lab_tensor *grad,
                                                   const int64_t *sizes,
                                                   bool linear,
                                                   bool align_corners,
                                                   lab_tensor **out);

/* ---- normalisation ------------------------------------------------------ */

/* x: N×C×…; each channel over the batch where groups is 0, else each group of
 * channels of each image.  w and b of C elements, or NULL.  mean and rstd: made
 * where *mean is NULL, used as they are otherwise. */
LARDER_API larder_result lab_raw_normalize(lab_tensor *x, int64_t groups,
                                           lab_tensor *w, lab_tensor *b,
                                           double eps, lab_tensor **mean,
                                           lab_tensor **rstd, lab_tensor **out);
/* Gradients of x, w and b, those that are not NULL; mean and rstd depended on
 * x where `live`. */
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

/* One direction of one layer, over all of x (T×N×I), from h (and an LSTM's c),
 * N×H; `backwards`: from the last to the first.  w_x: G·H×I, w_h: G·H×H, b_x and
 * b_h G·H or NULL, with G 1, 4 (LSTM), 3 (GRU).  Writes each step's h to columns
 * at … at + H of out (T×N×…), and the last h and c to h_last and c_last (N×H).
 * `kept` (T×N×(G + 1)·H) gets what lab_raw_rnn_backward() needs; NULL: is not
 * needed.  `lengths`, unless NULL, has the steps of each row, 1 to T: a row ends
 * there (backwards: begins), and zeros follow. */
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
/* Adds to the gradients given (those not NULL): of x, of weights, of biases, of
 * h and c. */
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
