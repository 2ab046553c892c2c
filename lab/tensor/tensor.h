/* tensor.h - the session, storages and tensors: the basis of all other parts of
 * the lab.
 *
 * T1  A storage is memory in one place; it is freed at once when its last
 *     tensor is.  A tensor is a window on a storage.
 * T2  All device memory is allocated by lab__storage_new(): one larder_alloc()
 *     each, in program order.  A storage of 0 bytes allocates none.
 * T3  Loops know three types, called kinds: float32, int64 and bool.  A
 *     storage of another type has its own bytes, which are accounted for, and
 *     beside them `values` of its kind, which loops read and write and which
 *     are rounded to what the type can represent (narrow.c).
 * T4  Kernels do nothing if one of their tensors cannot be read
 *     (lab__readable()): device memory without bytes behind it, or of the
 *     parent of a forked process.  The latter is also an error, from
 *     lab__check_process(), unless a request for memory has failed before.
 */
#pragma once

#include <stdarg.h>
#include <sys/types.h>

#include <larder/device.h>
#include <larder/lab.h>

struct lab__pool; /* parallel.h */
struct lab__rng;  /* rng.h */

struct lab {
    larder_device *device;
    larder_allocator *allocator;
    pid_t process; /* the process that opened it */
    bool computes;
    bool grad_enabled;
    uint64_t host_bytes, host_peak;
    uint64_t storages;     /* number of live storages */
    uint64_t next_storage; /* the next one's id */
    uint64_t next_unseen;  /* the same, for those without device memory */
    uint64_t next_node;    /* sequence numbers of graph nodes */
    uint64_t next_hook;    /* and of hooks */
    larder_stream stream;  /* of new storages on the device */
    lab_stack_fn stack_fn; /* NULL: no stacks */
    void *stack_context;
    uint64_t *stack; /* LARDER_STACK_DEPTH_MAX entries if there is a stack_fn */
    size_t stack_depth;
    lab_observer observer;
    void *observer_context;
    struct lab__rng *rng;
    struct lab__pool *pool;
};

/* Ids of storages in device memory count from 0 in order of creation, as
 * observers see them; ids of all others count from here. */
#define LAB__UNSEEN_ID (UINT64_C(1) << 63)

struct lab__storage {
    unsigned refs;
    unsigned version; /* counts in-place writes; incremented by the writers */
    unsigned saved;   /* of refs: kept for backward, not visible to users */
    lab_place place;
    lab *session;
    uint64_t address; /* 0 if `bytes` is used */
    uint64_t bytes;
    uint64_t id;
    void *values;          /* T3; NULL: the bytes themselves */
    uint64_t values_bytes; /* of them */
};

struct lab__node; /* autograd/node.h */

/* The state of differentiation for a tensor, created when first needed by
 * functions in autograd/. */
struct lab__meta {
    void (*destroy)(struct lab__meta *meta);
    lab_tensor *grad;
    struct lab__node *grad_fn;     /* owned; NULL for a leaf */
    struct lab__node *accumulator; /* a leaf's; not owned */
    struct lab_hook *hooks;        /* a leaf's */
    unsigned output;               /* which of grad_fn's outputs this is */
    bool requires_grad;            /* requested for a leaf */
    bool retains_grad;
};

struct lab_tensor {
    unsigned refs;
    lab_dtype dtype : 8;
    lab_dtype kind : 8; /* the type that loops use: lab__kind_of(dtype) */
    int ndim : 8;
    struct lab__storage *storage;
    struct lab__meta *meta; /* NULL: no gradient, no history */
    int64_t offset;         /* of the first element */
    int64_t sizes[LAB_MAX_DIMS];
    int64_t strides[LAB_MAX_DIMS];
};

/* ---- failing ---- */

/* Set lab_last_error(); an argument may be that text itself. */
void lab__set_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void lab__set_host_error(uint64_t bytes);

/* The same as an expression with value r, for `return lab__fail(...)`.  Macros,
 * so that compilers see the value. */
#define lab__fail(r, ...) (lab__set_error(__VA_ARGS__), (r))
#define lab__invalid(...) lab__fail(LARDER_ERR_INVALID, __VA_ARGS__)
/* The result of a call of the allocator or the device; its message, if it
 * failed. */
larder_result lab__of_larder(larder_result r);
/* ERR_NO_HOST_MEMORY, with a message. */
#define lab__fail_host(bytes)                                                  \
    (lab__set_host_error(bytes), LARDER_ERR_NO_HOST_MEMORY)

/* Return the result of a call, unless it is LARDER_OK. */
#define LAB__TRY(call)                                                         \
    do {                                                                       \
        larder_result try_ = (call);                                           \
                                                                               \
        if (try_ != LARDER_OK)                                                 \
            return try_;                                                       \
    } while (0)

/* Before a tensor's declaration, which sets it to NULL: its reference is dropped
 * at the end of the block, after those of the tensors declared behind it. */
#define LAB__OWNED __attribute__((cleanup(lab__drop)))

static inline void lab__drop(lab_tensor **t)
{
    lab_unref(*t);
    *t = NULL;
}

/* Move an owned tensor to *out. */
static inline larder_result lab__give(lab_tensor **t, lab_tensor **out)
{
    *out = *t;
    *t = NULL;
    return LARDER_OK;
}

/* Whether operations are recorded, until the end of the block. */
#define LAB__RECORDING(l, on)                                                  \
    __attribute__((cleanup(lab__recording_end),                                \
                   unused)) struct lab__switch switch_ = {                     \
        (l), lab_set_grad_enabled((l), (on))}

struct lab__switch {
    lab *session;
    bool was;
};

static inline void lab__recording_end(struct lab__switch *s)
{
    lab_set_grad_enabled(s->session, s->was);
}

/* ---- creating --- */

/* ERR_INVALID if there can be no such tensor. */
larder_result lab__check_shape(lab_dtype dtype, lab_place place, int ndim,
                               const int64_t *sizes);
/* lab__tensor_new() after that check.  *zeroed (may be NULL): whether its
 * bytes are known to be 0. */
larder_result lab__tensor_blank(lab *l, lab_dtype dtype, lab_place place,
                                int ndim, const int64_t *sizes, int *zeroed,
                                lab_tensor **out);

/* A contiguous tensor with a storage of its own, not initialised. */
larder_result lab__tensor_new(lab *l, lab_dtype dtype, lab_place place,
                              int ndim, const int64_t *sizes, lab_tensor **out);
/* The same place, sizes and dtype as `like`, contiguous. */
larder_result lab__tensor_like(const lab_tensor *like, lab_tensor **out);
/* Like `like` in dtype and place, with other sizes. */
larder_result lab__tensor_of(const lab_tensor *like, int ndim,
                             const int64_t *sizes, lab_tensor **out);
/* A window on base's storage, without history. offset is in elements, from the
 * storage's beginning. */
larder_result lab__tensor_window(lab_tensor *base, int ndim,
                                 const int64_t *sizes, const int64_t *strides,
                                 int64_t offset, lab_tensor **out);
/* A window on t with these sizes, to which it can be broadcast, without history. */
larder_result lab__tensor_wide(lab_tensor *t, int ndim, const int64_t *sizes,
                               lab_tensor **out);
/* A second tensor with the same window, without history, as detach and saving
 * need. */
larder_result lab__tensor_alias(lab_tensor *t, lab_tensor **out);

/* ---- accessors -- */

size_t lab__dtype_bytes(lab_dtype dtype);
/* LAB_FLOAT32, LAB_INT64 or LAB_BOOL: the type in which loops access its
 * values. */
lab_dtype lab__kind_of(lab_dtype dtype);
const char *lab__dtype_name(lab_dtype dtype); /* "float32" */
const char *lab__place_name(lab_place place); /* "cpu", "cuda:0" */
/* The number of elements with these sizes; -1: more than 2^62. */
int64_t lab__count(int ndim, const int64_t *sizes);
/* The same with 1 in place of 0, as strides are computed. */
int64_t lab__reach(int ndim, const int64_t *sizes);
/* t's sizes after a reduction over the dimensions in `dims`, which stay with size 1
 * if `keep`.  Returns the number of dimensions. */
int lab__reduced_sizes(const lab_tensor *t, unsigned dims, bool keep,
                       int64_t sizes[LAB_MAX_DIMS]);
bool lab__is_sized(const lab_tensor *t, int ndim, const int64_t *sizes);
bool lab__same_sizes(const lab_tensor *a, const lab_tensor *b);
/* Whether these sizes can be broadcast to t's. */
bool lab__fits(int ndim, const int64_t *sizes, const lab_tensor *t);
bool lab__readable(const lab_tensor *t);
/* All of these, of which NULLs do not count. */
bool lab__readable_all(int count, const lab_tensor *const *ts);
#define LAB__READABLE(...)                                                     \
    lab__readable_all(                                                         \
        (int)(sizeof((const lab_tensor *[]){__VA_ARGS__}) / sizeof(void *)),   \
        (const lab_tensor *[]){__VA_ARGS__})
/* Pointer to the first element, only for readable tensors.  NULL, or not to be
 * used, if there are no elements. */
void *lab__data(const lab_tensor *t);
float *lab__floats(const lab_tensor *t); /* NULL of NULL */
/* "[2, 3]": for messages.  Writes into buf and returns it. */
#define LAB__SHAPE_TEXT 160
const char *lab__shape_text(int ndim, const int64_t *sizes,
                            char buf[LAB__SHAPE_TEXT]);
/* t's stride in dimension d of the `ndim` to which it is broadcast. */
static inline int64_t lab__stride_in(const lab_tensor *t, int d, int ndim)
{
    int own = d - (ndim - t->ndim);

    return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

/* Row-major strides. */
void lab__strides_of(int ndim, const int64_t *sizes, int64_t *strides);

/* ---- checks that operations share; each names `op` in its message ---- */

/* dim in [-ndim, ndim) made non-negative; ERR_INVALID otherwise. */
larder_result lab__check_dim(const char *op, const lab_tensor *t, int *dim);
larder_result lab__check_float(const char *op, const lab_tensor *t);
/* Both must be in one place, as in PyTorch's "Expected all tensors to be on the
 * same device". */
larder_result lab__check_place(const char *op, const lab_tensor *a,
                               const lab_tensor *b);
/* ERR_FORKED if the session belongs to the parent process; */
larder_result lab__check_session(const char *op, const lab *l);
/* or if t is in device memory of the parent process. */
larder_result lab__check_process(const char *op, const lab_tensor *t);
/* t must be writable: not expanded, and not the parent's. */
larder_result lab__check_writable(const char *op, const lab_tensor *t);
/* Broadcast sizes (none at first) with `more`. */
larder_result lab__broadcast_with(const char *op, int more_ndim,
                                  const int64_t *more, int *ndim,
                                  int64_t sizes[LAB_MAX_DIMS]);
/* Broadcast sizes of a and b. */
larder_result lab__broadcast(const char *op, const lab_tensor *a,
                             const lab_tensor *b, int *ndim,
                             int64_t sizes[LAB_MAX_DIMS]);

/* ---- plain copies (no history; the version stays) ---- */

/* Copy b's elements to a: equal sizes (b may have strides of 0), any strides,
 * dtypes and places. */
larder_result lab__copy(lab_tensor *a, const lab_tensor *b);
larder_result lab__fill(lab_tensor *a, double value);

/* ---- storages, for tensors only (storage.c) ---- */

/* A storage and its first tensor are one host allocation, freed with the
 * storage: one of the experiments has 8 million live tensors of one element. */
struct lab__pair {
    struct lab__storage storage;
    lab_tensor tensor;
};

/* Create a storage of `bytes` with one reference, with room for its first
 * tensor, which is not initialised, and with `values` bytes beside it that
 * loops can read. *zeroed (may be NULL): whether its bytes are known to be
 * 0. */
larder_result lab__storage_new(lab *l, lab_place place, uint64_t bytes,
                               uint64_t values, int *zeroed,
                               struct lab__pair **out);
void lab__storage_unref(struct lab__storage *storage);

/* A tensor of one number on the stack, to be broadcast. */
struct lab__number {
    struct lab__pair pair;
    union {
        float f;
        int64_t i;
        unsigned char b;
    } value;
};

/* Returns n's tensor, of that kind (transfer.c). */
const lab_tensor *lab__number_make(struct lab__number *n, lab *l,
                                   lab_dtype kind, double value);

/* Wrap values of a kind in host memory as a contiguous tensor, to be read from or
 * written to; nothing is owned. */
void lab__pair_wrap(struct lab__pair *pair, lab *l, lab_dtype kind, int ndim,
                    const int64_t *sizes, const void *values);

/* ---- types whose values loops access in another type (narrow.c, T3) ---- */

/* Convert every value of t to one that its type can represent: the nearest
 * float (an infinity if it is too large), whole numbers modulo 2 to the number
 * of bits.  Types that loops use directly, and float64, are unchanged. */
void lab__round(const lab_tensor *t);

/* Convert n values of the kind of `dtype` to its bytes, and back. */
void lab__pack(lab_dtype dtype, void *bytes, const void *values, int64_t n);
void lab__unpack(lab_dtype dtype, void *values, const void *bytes, int64_t n);
