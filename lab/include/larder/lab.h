/* lab.h - the lab: a small tensor library on the allocator, for showing and
 * testing what training does to device memory.
 *
 * It is not a deep-learning framework.  It computes real results (float32 and
 * int64, in the simulated GPU's memory), and every tensor lives exactly as long
 * as PyTorch's would.  The lab follows PyTorch in what an operation saves for
 * backward and when it drops that, in which gradients are kept, taken over or
 * copied, and in which temporaries an operation makes.
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
 *            write outputs only on LARDER_OK.  lab_last_error() describes the
 *            failure; for out-of-memory it gives the allocator's explanation.
 *            A failed call changes no tensor, and the session stays usable.
 * Threads    A session and its tensors belong to one thread at a time; the
 *            loops inside run on all cores.  Two sessions are independent.
 * Forks      A child of fork() must not use what is on the device: operations
 *            on it, in-place ones too, and lab_close() return
 *            LARDER_ERR_FORKED.  Tensors on the host are the child's own
 *            copies.
 * Ownership  Every tensor that a call writes to `out` is a reference owned by
 *            the caller, who releases it with lab_unref().  Arguments are
 *            borrowed.  Memory is freed as soon as the last reference is
 *            released, as in Python.
 * Views      Reshape (if it needs no copy), transpose, slice, select and
 *            expand share their base's storage.
 * Accounting If the device has no memory behind its addresses (backing=none),
 *            everything is allocated and freed as usual, but nothing is
 *            computed: numbers read from it are NaN (0 for int64).
 * Types      Arithmetic is in float32 and int64.  Tensors of other types take
 *            the memory of their own type, and results are rounded to what
 *            that type can represent; float64 is no more exact than float32.
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
    /* A spec of larder_device_open(); NULL: LAB_DEVICE_DEFAULT. */
    const char *device;
    larder_policy policy; /* 0: LARDER_POLICY_PYTORCH */
    /* Settings; NULL: none, and LARDER_CONF is read as by larder_create(). */
    const char *conf;
    uint64_t seed;    /* of the random numbers; 0: 1 */
    unsigned threads; /* of the loops; 0: one for each CPU */
} lab_options;

#define LAB_DEVICE_DEFAULT "sim:24GiB,backing=memory"

LARDER_API void lab_options_init_sized(lab_options *opt, size_t size);
#define lab_options_init(opt) lab_options_init_sized((opt), sizeof(lab_options))

/* Open a session on a simulated device of its own.  ERR_UNSUPPORTED for any
 * other kind of device: the lab computes on the CPU. */
LARDER_API larder_result lab_open(const lab_options *opt, lab **out);

/* Returns ERR_BUSY and does nothing while tensors are alive.  NULL is a
 * no-op. */
LARDER_API larder_result lab_close(lab *l);

/* The message of the last lab call that failed on this thread, like
 * larder_last_error(). */
LARDER_API const char *lab_last_error(void);

/* Owned by the session: do not close or destroy them. */
LARDER_API larder_device *lab_device(lab *l);
LARDER_API larder_allocator *lab_allocator(lab *l);

/* False if device memory has no bytes behind it. */
LARDER_API bool lab_computes(lab *l);

/* Figures that are often confused, side by side. */
typedef struct lab_memory {
    size_t size;
    uint64_t host_bytes;      /* of tensors in host memory */
    uint64_t host_peak;       /* its maximum */
    uint64_t context_bytes;   /* taken by the driver for this process */
    uint64_t smi_bytes;       /* what nvidia-smi shows: context + reserved */
    uint64_t reserved_bytes;  /* held from the driver */
    uint64_t allocated_bytes; /* in live tensors, after rounding */
    uint64_t requested_bytes; /* before rounding */
    uint64_t allocated_peak;
    uint64_t reserved_peak;
    uint64_t device_bytes; /* the device's total memory */
    uint64_t free_bytes;   /* on the device, after all processes */
    uint64_t tensors;      /* live storages, host and device */
} lab_memory;

LARDER_API void lab_memory_init_sized(lab_memory *m, size_t size);
#define lab_memory_init(m) lab_memory_init_sized((m), sizeof(lab_memory))
LARDER_API larder_result lab_memory_get(lab *l, lab_memory *out);

LARDER_API void lab_seed(lab *l, uint64_t seed);
/* The state of the random number generator: restoring it repeats the same
 * numbers. */
typedef struct lab_random_state {
    uint64_t seed, next;
} lab_random_state;
LARDER_API void lab_random_state_get(lab *l, lab_random_state *state);
LARDER_API void lab_random_state_set(lab *l, const lab_random_state *state);

/* Whether operations are recorded for backward.  The setter returns the
 * previous value. */
LARDER_API bool lab_grad_enabled(lab *l);
LARDER_API bool lab_set_grad_enabled(lab *l, bool on);

/* Called for every storage created on the device, before the call that creates
 * it returns, and for every one freed.  A session has one observer; NULL
 * removes it.  The observer must not call the lab. */
typedef struct lab_event {
    bool freed;
    uint64_t id;    /* of the storage: counted from 0 */
    uint64_t bytes; /* as requested */
    larder_addr addr;
} lab_event;
typedef void (*lab_observer)(void *context, const lab_event *event);
LARDER_API void lab_set_observer(lab *l, lab_observer fn, void *context);

/* ---- streams ---------------------------------------------------------- */

/* Tensors created from now on belong to this stream; returns the previous one.
 * 0 is the default stream.  Nothing is queued: the loops of a call have
 * finished when it returns. */
LARDER_API larder_stream lab_set_stream(lab *l, larder_stream stream);
LARDER_API larder_stream lab_stream(lab *l);
/* Declare that the tensor is used on that stream too: larder_record_stream() of
 * its storage.  Does nothing for a tensor in host memory. */
LARDER_API larder_result lab_record_stream(lab_tensor *t, larder_stream stream);

/* ---- history ---------------------------------------------------------- */

/* Writes the program's stack, innermost caller first, as numbers that `name`
 * can resolve.  It is called before each storage is created on the device, with
 * no locks held, and may therefore call the lab. */
typedef size_t (*lab_stack_fn)(void *context, uint64_t *frames,
                               size_t capacity);

/* Like larder_history_start(), with stacks of the program that calls the lab if
 * `stack` is not NULL; `name` as for larder_set_frame_resolver(). `opt` may be
 * NULL; its fields stacks, stack_fn and stack_ctx are ignored. */
LARDER_API larder_result lab_history_start(lab *l,
                                           const larder_history_options *opt,
                                           lab_stack_fn stack,
                                           larder_frame_fn *name,
                                           void *context);
/* Like larder_history_stop(); `stack` is not called any more. */
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

/* The address of the first element, in host memory or on the device; 0 if the
 * storage has no bytes. */
LARDER_API uint64_t lab_address(const lab_tensor *t);
LARDER_API uint64_t lab_storage_bytes(const lab_tensor *t);
/* For a storage on the device, the id its observer gets.  Storages that are not
 * reported to the observer (in host memory, or without bytes) have ids from
 * 2^63 on. */
LARDER_API uint64_t lab_storage_id(const lab_tensor *t);

/* Copy all elements in row-major order, in the tensor's dtype; `bytes` must be
 * numel × element size.  The tensor may be on the host or the device.
 * lab_write() returns ERR_INVALID for a tensor whose elements share memory
 * (expanded). */
LARDER_API larder_result lab_read(lab_tensor *t, void *to, uint64_t bytes);
LARDER_API larder_result lab_write(lab_tensor *t, const void *from,
                                   uint64_t bytes);
/* The value of a tensor that has exactly one element. */
LARDER_API larder_result lab_item(lab_tensor *t, double *out);

/* Formats the tensor as PyTorch prints it ("tensor([1., 2.], …)", long ones
 * shortened).  Writes at most cap bytes including the NUL and returns the
 * length needed, like snprintf.  If the values cannot be read: "tensor(...,
 * device='cuda:0', size=(2, 3))". */
LARDER_API size_t lab_format(lab_tensor *t, char *buf, size_t cap);

/* ---- creating --------------------------------------------------------- */

#define LAB_SHAPE                                                              \
    lab_dtype dtype, lab_place place, int ndim, const int64_t *sizes

LARDER_API larder_result lab_empty(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_zeros(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_ones(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_full(lab *l, LAB_SHAPE, double value,
                                  lab_tensor **out);
LARDER_API larder_result lab_randn(lab *l, LAB_SHAPE, lab_tensor **out);
LARDER_API larder_result lab_rand(lab *l, LAB_SHAPE, lab_tensor **out);
/* Integers, low <= n < high. */
LARDER_API larder_result lab_randint(lab *l, LAB_SHAPE, int64_t low,
                                     int64_t high, lab_tensor **out);
/* start, start + step, … below end (above it for a negative step). */
LARDER_API larder_result lab_arange(lab *l, lab_dtype dtype, lab_place place,
                                    double start, double end, double step,
                                    lab_tensor **out);
/* A permutation of 0 … n - 1, int64, on the host. */
LARDER_API larder_result lab_randperm(lab *l, int64_t n, lab_tensor **out);

/* ---- copies and views ------------------------------------------------- */

/* Returns another reference to the same tensor if it is already there. */
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
/* `count` equal pieces along dim (the last may be shorter), as views in
 * outs[0 … *made). */
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
/* The exact form, with erf. */
LARDER_API larder_result lab_gelu(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_tanh(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_sigmoid(lab_tensor *a, lab_tensor **out);

/* These write into the first argument's own memory and make no tensor.
 * ERR_INVALID if that memory is expanded or partly overlaps the other's.  While
 * operations are recorded: ERR_INVALID for a leaf that requires grad,
 * ERR_UNSUPPORTED if the memory has other views, and for addcmul and
 * addcdiv. */
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

/* Element-wise equality, as bool; not differentiable. */
LARDER_API larder_result lab_eq(lab_tensor *a, lab_tensor *b, lab_tensor **out);

/* ---- reductions ------------------------------------------------------- */

LARDER_API larder_result lab_sum(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_mean(lab_tensor *a, lab_tensor **out);
LARDER_API larder_result lab_sum_dim(lab_tensor *a, int dim, bool keep,
                                     lab_tensor **out);
LARDER_API larder_result lab_mean_dim(lab_tensor *a, int dim, bool keep,
                                      lab_tensor **out);
/* Index of the maximum along dim, int64; not differentiable. */
LARDER_API larder_result lab_argmax(lab_tensor *a, int dim, lab_tensor **out);

/* ---- layers ----------------------------------------------------------- */

/* Any number of dimensions; batches are broadcast, like torch.matmul. */
LARDER_API larder_result lab_matmul(lab_tensor *a, lab_tensor *b,
                                    lab_tensor **out);
/* x·wᵀ + b; b may be NULL. */
LARDER_API larder_result lab_linear(lab_tensor *x, lab_tensor *w, lab_tensor *b,
                                    lab_tensor **out);
LARDER_API larder_result lab_softmax(lab_tensor *a, int dim, lab_tensor **out);
LARDER_API larder_result lab_log_softmax(lab_tensor *a, int dim,
                                         lab_tensor **out);
/* Over the last dimension; w and b have its size, or both are NULL. */
LARDER_API larder_result lab_layer_norm(lab_tensor *a, lab_tensor *w,
                                        lab_tensor *b, double eps,
                                        lab_tensor **out);
/* Rows of w by an int64 index of any shape.  Indices must not be negative. */
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
/* Drops elements with probability p; returns the same tensor if !training. */
LARDER_API larder_result lab_dropout(lab_tensor *a, double p, bool training,
                                     lab_tensor **out);
/* Mean over the rows of logits (N×C) with int64 classes (N); rows of class -100
 * are ignored. */
LARDER_API larder_result lab_cross_entropy(lab_tensor *logits,
                                           lab_tensor *target,
                                           lab_tensor **out);
LARDER_API larder_result lab_mse_loss(lab_tensor *a, lab_tensor *b,
                                      lab_tensor **out);

/* ---- differentiation -------------------------------------------------- */

/* ERR_INVALID for switching it on if the dtype is not float32, or off for a
 * tensor that is not a leaf: such a tensor always needs its gradient. */
LARDER_API larder_result lab_set_requires_grad(lab_tensor *t, bool on);
LARDER_API bool lab_requires_grad(const lab_tensor *t);
LARDER_API bool lab_is_leaf(const lab_tensor *t);
/* Borrowed; NULL if there is none. */
LARDER_API lab_tensor *lab_grad(const lab_tensor *t);
/* NULL drops it. */
LARDER_API larder_result lab_set_grad(lab_tensor *t, lab_tensor *grad);
/* Keep the gradient (a copy) of a tensor that is not a leaf. */
LARDER_API larder_result lab_retain_grad(lab_tensor *t);

/* Called in every backward pass with t's gradient, before anything is computed
 * from it and before lab_retain_grad() copies it. `grad` is borrowed.  If the
 * hook writes a reference to *replacement, a gradient of the same sizes, dtype
 * and place, that one is used instead. `release`, if not NULL, is called with
 * the context when fn cannot be called any more: the hook was removed, t's
 * graph (for a leaf: t) is gone, or registering failed. */
typedef struct lab_hook lab_hook;
typedef larder_result (*lab_hook_fn)(void *context, lab_tensor *grad,
                                     lab_tensor **replacement);
/* *out (may be NULL) is a handle for lab_hook_remove() or lab_hook_leave(); it
 * outlives t. */
LARDER_API larder_result lab_register_hook(lab_tensor *t, lab_hook_fn fn,
                                           void *context,
                                           void (*release)(void *context),
                                           lab_hook **out);
/* Both free the handle and accept NULL; lab_hook_leave() leaves the function
 * registered. */
LARDER_API void lab_hook_remove(lab_hook *hook);
LARDER_API void lab_hook_leave(lab_hook *hook);
/* Move the hooks of one leaf to another. */
LARDER_API larder_result lab_move_hooks(lab_tensor *from, lab_tensor *to);

/* "MulBackward0"; NULL for a leaf.  Static. */
LARDER_API const char *lab_grad_fn_name(const lab_tensor *t);

/* Compute the gradients of t (which has one element unless `grad` is given) and
 * add them to those of the leaves.  What an operation saved is freed as soon as
 * the backward pass is done with it, unless retain_graph.  On failure the
 * gradients computed so far stay. */
LARDER_API larder_result lab_backward(lab_tensor *t, lab_tensor *grad,
                                      bool retain_graph);

/* Run fn without recording and keep only its inputs.  Backward runs it again,
 * recorded, with the same random numbers. `fn` writes one output. `release`, if
 * not NULL, is called with the context when fn cannot be called any more (also
 * if lab_checkpoint fails). */
typedef larder_result (*lab_segment_fn)(void *context, lab_tensor *input,
                                        lab_tensor **out);
LARDER_API larder_result lab_checkpoint(lab_segment_fn fn, void *context,
                                        void (*release)(void *context),
                                        lab_tensor *input, lab_tensor **out);

/* An operation defined by the caller.  The caller has made the outputs already,
 * and describes what they were made from, what to save and how to compute the
 * gradients. */
typedef larder_result (*lab_function_backward)(void *context,
                                               lab_tensor *const *saved,
                                               lab_tensor *const *grads,
                                               lab_tensor **results);

typedef struct lab_function {
    size_t size;      /* sizeof(lab_function) */
    const char *name; /* "AbsBackward0"; copied, 63 bytes of it */
    /* Called once per backward pass with `saved` as given, and with a gradient
     * for each output, NULL if none arrived.  All of these are borrowed.  It
     * writes a reference to results[i] for each input that wants a gradient
     * (lab_requires_grad() when it was recorded), or leaves NULL. */
    lab_function_backward backward;
    void *context;
    void (*release)(void *context); /* NULL, or called when nothing can call
                                     * backward any more */
    unsigned input_count, output_count, saved_count;
    lab_tensor *const *inputs;  /* NULLs for arguments that are not tensors */
    lab_tensor *const *outputs; /* NULLs for those without a gradient; an input
                                 * too, where it was written to in place */
    lab_tensor *const *saved;   /* NULLs are returned as such */
} lab_function;

/* Record the operation if operations are recorded and an input requires a
 * gradient.  Otherwise, and on failure, `release` is called at once. */
LARDER_API larder_result lab_function_record(lab *l, const lab_function *what);

/* Gradients of t with respect to `count` tensors, in results[0 … count).  The
 * leaves' own gradients do not change.  A result is NULL if t does not depend
 * on that tensor. */
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

/* For lr, beta1, beta2 and eps, for which 0 would be useless, 0 means PyTorch's
 * default of that optimizer. */
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
/* Parameters without a gradient are skipped.  On failure the parameters before
 * the one that failed have been updated, and the momentum or means of that one
 * may have been: this is the only call of the lab that can stop half way. */
LARDER_API larder_result lab_optimizer_step(lab_optimizer *o);
/* Drop the gradients (set_to_none), or fill them with zeros. */
LARDER_API larder_result lab_optimizer_zero_grad(lab_optimizer *o,
                                                 bool set_to_none);
LARDER_API double lab_optimizer_lr(const lab_optimizer *o);
LARDER_API void lab_optimizer_set_lr(lab_optimizer *o, double lr);

/* ---- showing ---------------------------------------------------------- */

enum {
    LAB_PANEL_COLOUR = 1, /* with ANSI colours */
    LAB_PANEL_ASCII = 2   /* bars of ASCII, for terminals that are not UTF-8 */
};

/* Formats the panel: the statement (NULL: none), host bytes, and the three
 * figures of the device with a bar each and the change since `before` (NULL: no
 * change shown).  Ends with a newline. `width` is in columns (0: 80); `flags`
 * is a sum of the flags above.  Returns the length needed, like snprintf. */
LARDER_API size_t lab_panel(lab *l, const char *statement,
                            const lab_memory *before, unsigned width,
                            unsigned flags, char *buf, size_t cap);

/* The allocator's statistics under PyTorch's names, one per line:
 * "allocated_bytes.all.current 1024".  Returns the length needed. */
LARDER_API size_t lab_memory_stats(lab *l, char *buf, size_t cap);

/* The segments and blocks in the format of PyTorch's memory_snapshot, as JSON:
 * {"segments": […], "device_traces": [[]], …}. */
LARDER_API size_t lab_snapshot_json(lab *l, char *buf, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
