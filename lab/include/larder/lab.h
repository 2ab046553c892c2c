/* lab.h - the lab: a small tensor library on the allocator, to show and to
 * test what training does to device memory.
 *
 * It is not a deep-learning framework.  It computes for real (float32 and
 * int64, on the simulated GPU's memory), and every tensor lives exactly as
 * long as PyTorch's would: what an operation saves for backward, when that is
 * let go, which gradients are kept, taken over or copied, and which
 * temporaries an operation makes.
 *
 *   lab *l;
 *   lab_tensor *x, *y, *m;
 *   const int64_t sizes[] = {256, 1024, 1024};
 *   lab_open(NULL, &l);
 *   lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 3, sizes, &x);
 *   lab_set_requires_grad(x, true);
 *   lab_mul_scalar(x, 5, &y);
 *   lab_mean(y, &m);
 *   lab_backward(m, NULL, false);     the gradient: lab_grad(x)
 *   lab_unref(m); lab_unref(y); lab_unref(x);
 *   lab_close(l);
 *
 * Errors     As in larder.h: calls that can fail return larder_result and
 *            write outputs only on LARDER_OK; lab_last_error() has the failure
 *            in words, for an out-of-memory the allocator's explanation.  A
 *            failed call leaves every tensor as it was, and the session usable.
 * Threads    A session and its tensors belong to one thread at a time; the
 *            loops inside run on all cores.  Two sessions are independent.
 * Forks      A child of fork() is refused what is on the device, in place too,
 *            and the closing of the session, with LARDER_ERR_FORKED; tensors on
 *            the host are copies of its own.
 * Ownership  Every tensor a call writes to `out` is a reference of the
 *            caller's, to be given up by lab_unref().  Arguments are borrowed.
 *            Memory is freed at the moment the last reference goes, as in
 *            Python.
 * Views      Reshape (where no copy is needed), transpose, slice, select and
 *            expand share their base's storage.
 * Accounting Where the device has no memory behind its addresses
 *            (backing=none) everything is allocated and freed just the same,
 *            and nothing is computed on it: numbers read from it are NaN (0 for
 *            int64).
 * Types      Arithmetic is float32's and int64's.  Tensors of other types take
 *            the memory of their own, and results are rounded to what these can
 *            hold; float64 is no more exact than float32.
 * Units      Bytes, unless a name says otherwise; sizes and strides of tensors
 *            are in elements.
 */
#ifndef LARDER_LAB_H
#define LARDER_LAB_H

#include <stdbool.h>

#include <larder/history.h>
#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAB_MAX_DIMS 6

typedef struct lab lab;               /* a session: device, allocator, host */
typedef struct lab_tensor lab_tensor; /* counted; see lab_ref() */

typedef enum lab_dtype {
    LAB_FLOAT32 = 0,
    LAB_INT64 = 1,
    LAB_BOOL = 2, /* one byte: masks */
    LAB_FLOAT16 = 3,
    LAB_BFLOAT16 = 4,
    LAB_FLOAT64 = 5,
    LAB_INT32 = 6,
    LAB_INT16 = 7,
    LAB_INT8 = 8,
    LAB_UINT8 = 9
} lab_dtype;

typedef enum lab_place { LAB_HOST = 0, LAB_DEVICE = 1 } lab_place;

/* ---- sessions --------------------------------------------------------- */

typedef struct lab_options {
    size_t size;
    const char
        *device; /* a spec of larder_device_open(); NULL: LAB_DEVICE_DEFAULT */
    larder_policy policy; /* 0: LARDER_POLICY_PYTORCH */
    const char *
        conf; /* settings; NULL: none, and LARDER_CONF as larder_create() has it */
    uint64_t seed;    /* of the random numbers; 0: 1 */
    unsigned threads; /* of the loops; 0: one for each processor */
} lab_options;

#define LAB_DEVICE_DEFAULT "sim:24GiB,backing=memory"

LARDER_API void lab_options_init_sized(lab_options *opt, size_t size);
#define lab_options_init(opt) lab_options_init_sized((opt), sizeof(lab_options))

/* Open a session on a simulated device of its own.  ERR_UNSUPPORTED for any
 * other kind of device: the lab computes with the processor. */
LARDER_API larder_result lab_open(const lab_options *opt, lab **out);

/* ERR_BUSY while tensors live: nothing then happens.  NULL is a no-op. */
LARDER_API larder_result lab_close(lab *l);

/* The last failure of a lab call on this thread; as larder_last_error(). */
LARDER_API const char *lab_last_error(void);

/* The session's own: not to be closed or destroyed. */
LARDER_API larder_device *lab_device(lab *l);
LARDER_API larder_allocator *lab_allocator(lab *l);

/* False where device memory has no bytes behind it. */
LARDER_API bool lab_computes(lab *l);

/* What people confuse, side by side. */
typedef struct lab_memory {
    size_t size;
    uint64_t host_bytes;      /* of tensors in host memory */
    uint64_t host_peak;       /* the most of it at once */
    uint64_t context_bytes;   /* taken by the driver for this process */
    uint64_t smi_bytes;       /* what nvidia-smi shows: context + reserved */
    uint64_t reserved_bytes;  /* held from the driver */
    uint64_t allocated_bytes; /* in live tensors, after rounding */
    uint64_t requested_bytes; /* the same, as asked */
    uint64_t allocated_peak;
    uint64_t reserved_peak;
    uint64_t device_bytes; /* all the device has */
    uint64_t free_bytes;   /* of the device, over all processes */
    uint64_t tensors;      /* storages alive, host and device */
} lab_memory;

LARDER_API void lab_memory_init_sized(lab_memory *m, size_t size);
#define lab_memory_init(m) lab_memory_init_sized((m), sizeof(lab_memory))
LARDER_API larder_result lab_memory_get(lab *l, lab_memory *out);

LARDER_API void lab_seed(lab *l, uint64_t seed);
/* Where the random numbers are: the same state gives the same ones again. */
typedef struct lab_random_state {
    uint64_t seed, next;
} lab_random_state;
LARDER_API void lab_random_state_get(lab *l, lab_random_state *state);
LARDER_API void lab_random_state_set(lab *l, const lab_random_state *state);

/* Whether operations are recorded for backward; both return what was. */
LARDER_API bool lab_grad_enabled(lab *l);
LARDER_API bool lab_set_grad_enabled(lab *l, bool on);

/* Told of every device storage made (before the call that makes it returns)
 * and freed.  One observer a session; NULL takes it away.  It must not call
 * the lab. */
typedef struct lab_event {
    bool freed;
    uint64_t id;    /* of the storage: counted from 0 */
    uint64_t bytes; /* as requested */
    larder_addr addr;
} lab_event;
typedef void (*lab_observer)(void *context, const lab_event *event);
LARDER_API void lab_set_observer(lab *l, lab_observer fn, void *context);

/* ---- streams ---------------------------------------------------------- */

/* Tensors made from now on are for this stream; returns the one before.  0 is
 * the default stream.  Nothing is queued: loops have run when a call returns.
 */
LARDER_API larder_stream lab_set_stream(lab *l, larder_stream stream);
LARDER_API larder_stream lab_stream(lab *l);
/* The tensor is used on that stream too: larder_record_stream() of its
 * storage.  Nothing happens for one in host memory. */
LARDER_API larder_result lab_record_stream(lab_tensor *t, larder_stream stream);

/* ---- history ---------------------------------------------------------- */

/* The program's stack, its innermost caller first, as numbers that `name`
 * knows: asked before each storage on the device, without locks held, so that
 * it may call the lab. */
typedef size_t (*lab_stack_fn)(void *context, uint64_t *frames,
                               size_t capacity);

/* larder_history_start(), with stacks of the program that calls the lab where
 * `stack` is not NULL; `name` as for larder_set_frame_resolver().  `opt` may be
 * NULL; its stacks, stack_fn and stack_ctx are not looked at. */
LARDER_API larder_result lab_history_start(lab *l,
                                           const larder_history_options *opt,
                                           lab_stack_fn stack,
                                           larder_frame_fn *name,
                                           void *context);
/* larder_history_stop(), and no more questions. */
LARDER_API larder_result lab_history_stop(lab *l);

/* ---- tensors ---------------------------------------------------------- */

LARDER_API lab_tensor *lab_ref(lab_tensor *t); /* returns t */
LARDER_API void lab_unref(lab_tensor *t);      /* NULL is a no-op */

LARDER_API lab *lab_session(const lab_tensor *t);
LARDER_API lab_dtype lab_dtype_of(const lab_tensor *t);
LARDER_API lab_place lab_place_of(const lab_tensor *t);
LARDER_API int lab_ndim(const lab_tensor *t);
LARDER_API const int64_t *lab_sizes(const lab_tensor *t);   /* ndim of them */
LARDER_API const int64_t *lab_strides(const lab_tensor *t); /* ndim of them */
LARDER_API int64_t lab_numel(const lab_tensor *t);
LARDER_API bool lab_is_contiguous(const lab_tensor *t);

/* The first element's address: in host memory or on the device; 0 where the
 * storage has no bytes. */
LARDER_API uint64_t lab_address(const lab_tensor *t);
LARDER_API uint64_t lab_storage_bytes(const lab_tensor *t);
/* The observer's, on the device; from 2^63 on for storages it is not told of:
 * in host memory, and without bytes. */
LARDER_API uint64_t lab_storage_id(const lab_tensor *t);

/* Elements in row-major order, as the tensor's dtype; `bytes` must be
 * numel × the element's size.  A host or device tensor; not written to where
 * elements share memory (expanded: ERR_INVALID). */
LARDER_API larder_result lab_read(lab_tensor *t, void *to, uint64_t bytes);
LARDER_API larder_result lab_write(lab_tensor *t, const void *from,
                                   uint64_t bytes);
/* The one element of a tensor of one. */
LARDER_API larder_result lab_item(lab_tensor *t, double *out);

/* The tensor in words, as PyTorch prints it ("tensor([1., 2.], …)", long
 * ones shortened).  Writes at most cap bytes with the NUL and returns the
 * length needed, like snprintf.  Where nothing can be read: "tensor(...,
 * device='cuda:0', size=(2, 3))". */
LARDER_API size_t lab_format(lab_tensor *t, char *buf, size_t cap);

/* ---- making ----------------------------------------------------------- */

#define LAB_SHAPE                                                              \
    lab_dtype dtype, lab_place place, int ndim, const int64_t *sizes

LARDER_API larder_result lab_empty(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_zeros(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_ones(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_full(lab *l, LAB_SHAPE, double value,
                                  lab_tensor **out);
LARDER_API larder_result lab_randn(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_rand(lab *l, LAB_SHAPE, lab_tensor **out);
/* Whole numbers, low <= n < high. */
LARDER_API larder_result lab_randint(lab *l, LAB_SHAPE, int64_t low,
                                     int64_t high, lab_tensor **out);
/* start, start + step, … below end (above it for a negative step). */
LARDER_API larder_result lab_arange(lab *l, lab_dtype dtype, lab_place place,
                                    double start, double end, double step,
                                    lab_tensor **out);
/* A permutation of 0 … n - 1, int64, on the host. */
LARDER_API larder_result lab_randperm(lab *l, int64_t n, lab_tensor **out);

/* ---- copies and views ------------------------------------------------- */

/* The same tensor (another reference) when it is there already. */
LARDER_API larder_result lab_to(lab_tensor *t, lab_place place,
                                lab_tensor **out);
LARDER_API larder_result lab_to_dtype(lab_tensor *t, lab_dtype dtype,
                                      lab_tensor **out);
LARDER_API larder_result lab_clone(lab_tensor *t, lab_tensor **out);
LARDER_API larder_result lab_detach(lab_tensor *t, lab_tensor **out);
LARDER_API larder_result lab_contiguous(lab_tensor *t, lab_tensor **out);
LARDER_API larder_result lab_reshape(lab_tensor *t, int ndim,
                                     const int64_t *sizes,
                                     lab_tensor **out); /* one may be -1 */
LARDER_API larder_result lab_view(lab_tensor *t, int ndim, const int64_t *sizes,
                                  lab_tensor **out); /* never copies */
LARDER_API larder_result lab_transpose(lab_tensor *t, int dim0, int dim1,
                                       lab_tensor **out);
LARDER_API larder_result lab_permute(lab_tensor *t, int ndim, const int *dims,
                                     lab_tensor **out);
LARDER_API larder_result lab_slice(lab_tensor *t, int dim, int64_t start,
                                   int64_t end, int64_t step, lab_tensor **out);
LARDER_API larder_result lab_select(lab_tensor *t, int dim, int64_t index,
                                    lab_tensor **out);
LARDER_API larder_result lab_expand(lab_tensor *t, int ndim,
                                    const int64_t *sizes, lab_tensor **out);
LARDER_API larder_result lab_squeeze(lab_tensor *t, int dim, lab_tensor **out);
LARDER_API larder_result lab_unsqueeze(lab_tensor *t, int dim,
                                       lab_tensor **out);
/* `count` equal pieces along dim (the last may be shorter), written to
 * outs[0 … *made): views. */
LARDER_API larder_result lab_chunk(lab_tensor *t, int count, int dim,
                                   lab_tensor **outs, int *made);
/* Every slice along dim: lab_sizes(t)[dim] views. */
LARDER_API larder_result lab_unbind(lab_tensor *t, int dim, lab_tensor **outs);
LARDER_API larder_result lab_cat(lab_tensor *const *ts, int count, int dim,
                                 lab_tensor **out);
LARDER_API larder_result lab_stack(lab_tensor *const *ts, int count, int dim,
                                   lab_tensor **out);
/* Rows of t (dimension 0) by an int64 index of any shape. */
LARDER_API larder_result lab_index_rows(lab_tensor *t, lab_tensor *index,
                                        lab_tensor **out);

/* ---- arithmetic: broadcast; differentiable ---------------------------- */

LARDER_API larder_result lab_add(lab_tensor *a, lab_tensor *b,
                                 lab_tensor **out);
LARDER_API larder_result lab_sub(lab_tensor *a, lab_tensor *b,
                                 lab_tensor **out);
LARDER_API larder_result lab_mul(lab_tensor *a, lab_tensor *b,
                                 lab_tensor **out);
LARDER_API larder_result lab_div(lab_tensor *a, lab_tensor *b,
                                 lab_tensor **out);
LARDER_API larder_result lab_add_scalar(lab_tensor *a, double b,
                                        lab_tensor **out);
LARDER_API larder_result lab_sub_scalar(lab_tensor *a, double b,
                                        lab_tensor **out);
LARDER_API larder_result lab_mul_scalar(lab_tensor *a, double b,
                                        lab_tensor **out);
LARDER_API larder_result lab_div_scalar(lab_tensor *a, double b,
                                        lab_tensor **out);
LARDER_API larder_result lab_rsub_scalar(double a, lab_tensor *b,
                                         lab_tensor **out);
LARDER_API larder_result lab_rdiv_scalar(double a, lab_tensor *b,
                                         lab_tensor **out);
LARDER_API larder_result lab_neg(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_exp(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_log(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_sqrt(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_pow_scalar(lab_tensor *a, double b,
                                        lab_tensor **out);
LARDER_API larder_result lab_relu(lab_tensor *a, lab_tensor **out);
/* The exact one, with erf. */
LARDER_API larder_result lab_gelu(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_tanh(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_sigmoid(lab_tensor *a, lab_tensor **out);

/* Into the first argument's own memory: no tensor is made.  ERR_INVALID where
 * that memory is expanded, or overlaps the other's in part.  While operations
 * are recorded: ERR_INVALID for a leaf that requires grad, ERR_UNSUPPORTED
 * where the memory has other views too, and for addcmul and addcdiv. */
LARDER_API larder_result lab_add_inplace(lab_tensor *a, lab_tensor *b,
                                         double alpha);
LARDER_API larder_result lab_mul_inplace(lab_tensor *a, lab_tensor *b);
LARDER_API larder_result lab_div_inplace(lab_tensor *a, lab_tensor *b);
LARDER_API larder_result lab_add_scalar_inplace(lab_tensor *a, double b);
LARDER_API larder_result lab_mul_scalar_inplace(lab_tensor *a, double b);
LARDER_API larder_result lab_relu_inplace(lab_tensor *a);
LARDER_API larder_result lab_addcmul_inplace(lab_tensor *a, lab_tensor *b,
                                             lab_tensor *c, double value);
LARDER_API larder_result lab_addcdiv_inplace(lab_tensor *a, lab_tensor *b,
                                             lab_tensor *c, double value);
LARDER_API larder_result lab_fill_inplace(lab_tensor *a, double value);
LARDER_API larder_result lab_copy_inplace(lab_tensor *a, lab_tensor *b);

/* Equal elements, as bool; not differentiable. */
LARDER_API larder_result lab_eq(lab_tensor *a, lab_tensor *b, lab_tensor **out);

/* ---- reductions ------------------------------------------------------- */

LARDER_API larder_result lab_sum(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_mean(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_sum_dim(lab_tensor *a, int dim, bool keep,
                                     lab_tensor **out);
LARDER_API larder_result lab_mean_dim(lab_tensor *a, int dim, bool keep,
                                      lab_tensor **out);
/* Index of the largest along dim, int64; not differentiable. */
LARDER_API larder_result lab_argmax(lab_tensor *a, int dim, lab_tensor **out);

/* ---- layers ----------------------------------------------------------- */

/* Any dimensions, batches broadcast, as torch.matmul. */
LARDER_API larder_result lab_matmul(lab_tensor *a, lab_tensor *b,
                                    lab_tensor **out);
/* x·wᵀ + b; b may be NULL. */
LARDER_API larder_result lab_linear(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                                    lab_tensor **out);
LARDER_API larder_result lab_softmax(lab_tensor *a, int dim, lab_tensor **out);
LARDER_API larder_result lab_log_softmax(lab_tensor *a, int dim,
                                         lab_tensor **out);
/* Over the last dimension; w and b of its size, or both NULL. */
LARDER_API larder_result lab_layer_norm(lab_tensor *a, lab_tensor *w,
                                        lab_tensor *b, double eps,
                                        lab_tensor **out);
/* Rows of w by an int64 index of any shape; none below 0. */
LARDER_API larder_result lab_embedding(lab_tensor *w, lab_tensor *index,
                                       lab_tensor **out);
/* softmax(q·kᵀ/√d)·v; with `causal`, no position sees a later one. */
LARDER_API larder_result lab_attention(lab_tensor *q, lab_tensor *k,
                                       lab_tensor *v, bool causal,
                                       lab_tensor **out);
/* x: N×C×H×W, w: O×C×KH×KW, b: O or NULL. */
LARDER_API larder_result lab_conv2d(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                                    int stride, int padding, lab_tensor **out);
LARDER_API larder_result lab_max_pool2d(lab_tensor *x, int kernel, int stride,
                                        lab_tensor **out);
/* Elements are dropped with probability p; the same tensor where
 * !training. */
LARDER_API larder_result lab_dropout(lab_tensor *a, double p, bool training,
                                     lab_tensor **out);
/* Mean over the rows of logits (N×C) with int64 classes (N); rows of class
 * -100 count for nothing. */
LARDER_API larder_result lab_cross_entropy(lab_tensor *logits,
                                           lab_tensor *target,
                                           lab_tensor **out);
LARDER_API larder_result lab_mse_loss(lab_tensor *a, lab_tensor *b,
                                      lab_tensor **out);

/* ---- differentiation -------------------------------------------------- */

/* ERR_INVALID for switching it on where the dtype is not float32, or off for a
 * tensor that is no leaf: one of those needs its gradient anyway. */
LARDER_API larder_result lab_set_requires_grad(lab_tensor *t, bool on);
LARDER_API bool lab_requires_grad(const lab_tensor *t);
LARDER_API bool lab_is_leaf(const lab_tensor *t);
/* Borrowed; NULL when there is none. */
LARDER_API lab_tensor *lab_grad(const lab_tensor *t);
/* NULL drops it. */
LARDER_API larder_result lab_set_grad(lab_tensor *t, lab_tensor *grad);
/* Keep the gradient of a tensor that is no leaf too (a copy). */
LARDER_API larder_result lab_retain_grad(lab_tensor *t);

/* Called in every walk with t's gradient, before anything is made of it, and
 * before lab_retain_grad() keeps a copy.  `grad` is borrowed; a reference
 * written to *replacement, a gradient of the same sizes, dtype and place,
 * takes its place.  `release`, if not NULL, is called with the context when
 * nothing can call fn any more: it was removed, t's graph (for a leaf: t) is
 * gone, or registering failed. */
typedef struct lab_hook lab_hook;
typedef larder_result (*lab_hook_fn)(void *context, lab_tensor *grad,
                                     lab_tensor **replacement);
/* *out (may be NULL) is for one of the two below; it outlives t. */
LARDER_API larder_result lab_register_hook(lab_tensor *t, lab_hook_fn fn,
                                           void *context,
                                           void (*release)(void *context),
                                           lab_hook **out);
/* Both end `hook` and take NULL; the second leaves the function where it is. */
LARDER_API void lab_hook_remove(lab_hook *hook);
LARDER_API void lab_hook_leave(lab_hook *hook);
/* The hooks of one leaf become another's. */
LARDER_API larder_result lab_move_hooks(lab_tensor *from, lab_tensor *to);

/* "MulBackward0"; NULL for a leaf.  Static. */
LARDER_API const char *lab_grad_fn_name(const lab_tensor *t);

/* Gradients of t (of one element unless `grad` is given) added into the
 * leaves.  What was saved is let go as the walk passes it, unless
 * retain_graph.  On failure the gradients reached so far stay. */
LARDER_API larder_result lab_backward(lab_tensor *t, lab_tensor *grad,
                                      bool retain_graph);

/* Run fn without recording and keep only its inputs; backward runs it again,
 * recorded, from the same random numbers.  `fn` writes one output.
 * `release`, if not NULL, is called with the context when nothing can call fn
 * any more (also when lab_checkpoint fails). */
typedef larder_result (*lab_segment_fn)(void *context, lab_tensor *input,
                                        lab_tensor **out);
LARDER_API larder_result lab_checkpoint(lab_segment_fn fn, void *context,
                                        void (*release)(void *context),
                                        lab_tensor *input, lab_tensor **out);

/* An operation of the caller's own: it has made its outputs, and says what
 * they were made from, what to save and how to go back. */
typedef larder_result (*lab_function_backward)(void *context,
                                               lab_tensor *const *saved,
                                               lab_tensor *const *grads,
                                               lab_tensor **results);

typedef struct lab_function {
    size_t size;      /* sizeof(lab_function) */
    const char *name; /* "AbsBackward0"; copied, 63 bytes of it */
    /* Called once a walk: `saved` as given; a gradient for each output, NULL
     * where none arrived; all of these are borrowed.  Writes a reference to
     * results[i] for each input that wants a gradient (lab_requires_grad() when
     * it was recorded), or leaves NULL. */
    lab_function_backward backward;
    void *context;
    void (*release)(void *context); /* NULL, or called when nothing can call
                                     * backward any more */
    unsigned input_count, output_count, saved_count;
    lab_tensor *const *inputs;  /* NULLs for arguments that are no tensors */
    lab_tensor *const *outputs; /* NULLs for those without a gradient; an input
                                 * too, where it was written to in place */
    lab_tensor *const *saved;   /* NULLs are returned as such */
} lab_function;

/* Record it, where operations are recorded and an input requires a gradient.
 * `release` is called at once where it is not, and on failure. */
LARDER_API larder_result lab_function_record(lab *l, const lab_function *what);

/* Gradients of t with respect to `count` tensors, for results[0 … count): no
 * leaf keeps any.  NULL where t does not depend on one. */
LARDER_API larder_result lab_gradients(lab_tensor *t, lab_tensor *grad,
                                       bool retain_graph,
                                       lab_tensor *const *inputs, int count,
                                       lab_tensor **results);

/* ---- optimizers ------------------------------------------------------- */

typedef struct lab_optimizer lab_optimizer;
typedef enum lab_optimizer_kind {
    LAB_SGD,
    LAB_ADAM,
    LAB_ADAMW
} lab_optimizer_kind;

/* What is 0 is PyTorch's default for that kind, where 0 would be of no use
 * (lr, beta1, beta2, eps). */
typedef struct lab_optimizer_options {
    size_t size;
    double lr;           /* SGD: must be given; Adam, AdamW 1e-3 */
    double momentum;     /* SGD */
    double weight_decay; /* AdamW: negative means 0, 0 means its default 0.01 */
    double beta1, beta2; /* 0.9, 0.999 */
    double eps;          /* 1e-8 */
} lab_optimizer_options;

LARDER_API void lab_optimizer_options_init_sized(lab_optimizer_options *opt,
                                                 size_t size);
#define lab_optimizer_options_init(opt)                                        \
    lab_optimizer_options_init_sized((opt), sizeof(lab_optimizer_options))

/* Holds a reference to each parameter. */
LARDER_API larder_result lab_optimizer_create(lab *l, lab_optimizer_kind kind,
                                              const lab_optimizer_options *opt,
                                              lab_tensor *const *params,
                                              int count, lab_optimizer **out);
LARDER_API void lab_optimizer_destroy(lab_optimizer *o);
/* Parameters without a gradient are left alone.  On failure those before the
 * one that failed are stepped, and the momentum or means of that one may be:
 * it is the one call of the lab that can stop half way. */
LARDER_API larder_result lab_optimizer_step(lab_optimizer *o);
/* Let the gradients go, or write zeros into them. */
LARDER_API larder_result lab_optimizer_zero_grad(lab_optimizer *o,
                                                 bool set_to_none);
LARDER_API double lab_optimizer_lr(const lab_optimizer *o);
LARDER_API void lab_optimizer_set_lr(lab_optimizer *o, double lr);

/* ---- showing ---------------------------------------------------------- */

enum {
    LAB_PANEL_COLOUR = 1, /* with ANSI colours */
    LAB_PANEL_ASCII = 2   /* bars of ASCII, for terminals that are not UTF-8 */
};

/* The panel: the statement (NULL: none), host bytes, and the three figures of
 * the device with a bar each and the change since `before` (NULL: no change
 * shown).  Ends with a newline.  `width` columns (0: 80); flags as above,
 * added.  Returns the length needed, like snprintf. */
LARDER_API size_t lab_panel(lab *l, const char *statement,
                            const lab_memory *before, unsigned width,
                            unsigned flags, char *buf, size_t cap);

/* The allocator's statistics in PyTorch's names, a line each:
 * "allocated_bytes.all.current 1024".  Returns the length needed. */
LARDER_API size_t lab_memory_stats(lab *l, char *buf, size_t cap);

/* The segments and blocks as PyTorch's memory_snapshot has them, in JSON:
 * {"segments": […], "device_traces": [[]], …}. */
LARDER_API size_t lab_snapshot_json(lab *l, char *buf, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
