/* tensor.c - makes tensors and windows on their storages; the message of the last
 * failure. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tensor/host_memory.h"

/* ---- failing ------------------------------------------------------------ */

/* Room for the allocator's explanation of an out-of-memory error, with some
 * text around it. */
enum { ERROR_MAX = 3072 };

/* Per thread, so that threads that fail at once do not mix their messages. */
static _Thread_local char last_error[ERROR_MAX];

const char *lab_last_error(void)
{
    return last_error;
}

void lab__set_error(const char *format, ...)
{
    char text[ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_error, text, strlen(text) + 1);
}

larder_result lab__of_larder(larder_result r)
{
    if (r != LARDER_OK)
        lab__set_error("%s", larder_last_error());
    return r;
}

void lab__set_host_error(uint64_t bytes)
{
    lab__set_error("out of host memory: %" PRIu64 " bytes were requested",
                   bytes);
}

/* ---- creating ----------------------------------------------------------- */

static void fill_in(lab_tensor *t, struct lab__storage *storage,
                    lab_dtype dtype, int ndim)
{
    t->refs = 1;
    t->dtype = dtype;
    t->kind = lab__kind_of(dtype);
    t->ndim = ndim;
    t->storage = storage;
    t->meta = NULL;
    t->offset = 0;
}

larder_result lab__tensor_blank(lab *l, lab_dtype dtype, lab_place place,
                                int ndim, const int64_t *sizes, int *zeroed,
                                lab_tensor **out)
{
    uint64_t count = (uint64_t)lab__count(ndim, sizes);
    lab_dtype kind = lab__kind_of(dtype);
    uint64_t values = kind == dtype ? 0 : count * lab__dtype_bytes(kind);
    struct lab__pair *pair;

    LAB__TRY(lab__storage_new(l, place, count * lab__dtype_bytes(dtype), values,
                              zeroed, &pair));
    fill_in(&pair->tensor, &pair->storage, dtype, ndim);
    for (int i = 0; i < ndim; i++)
        pair->tensor.sizes[i] = sizes[i];
    lab__strides_of(ndim, sizes, pair->tensor.strides);
    *out = &pair->tensor;
    return LARDER_OK;
}

larder_result lab__tensor_new(lab *l, lab_dtype dtype, lab_place place,
                              int ndim, const int64_t *sizes, lab_tensor **out)
{
    LAB__TRY(lab__check_shape(dtype, place, ndim, sizes));
    return lab__tensor_blank(l, dtype, place, ndim, sizes, NULL, out);
}

larder_result lab__tensor_of(const lab_tensor *like, int ndim,
                             const int64_t *sizes, lab_tensor **out)
{
    return lab__tensor_new(like->storage->session, like->dtype,
                           like->storage->place, ndim, sizes, out);
}

larder_result lab__tensor_like(const lab_tensor *like, lab_tensor **out)
{
    return lab__tensor_of(like, like->ndim, like->sizes, out);
}

larder_result lab__tensor_window(lab_tensor *base, int ndim,
                                 const int64_t *sizes, const int64_t *strides,
                                 int64_t offset, lab_tensor **out)
{
    lab_tensor *t = lab__host_alloc(sizeof *t);

    if (t == NULL)
        return lab__fail_host(sizeof *t);
    fill_in(t, base->storage, base->dtype, ndim);
    t->offset = offset;
    for (int i = 0; i < ndim; i++) {
        t->sizes[i] = sizes[i];
        t->strides[i] = strides[i];
    }
    base->storage->refs++;
    *out = t;
    return LARDER_OK;
}

larder_result lab__tensor_wide(lab_tensor *t, int ndim, const int64_t *sizes,
                               lab_tensor **out)
{
    int64_t strides[LAB_MAX_DIMS];

    for (int d = 0; d < ndim; d++)
        strides[d] = lab__stride_in(t, d, ndim);
    return lab__tensor_window(t, ndim, sizes, strides, t->offset, out);
}

larder_result lab__tensor_alias(lab_tensor *t, lab_tensor **out)
{
    return lab__tensor_window(t, t->ndim, t->sizes, t->strides, t->offset, out);
}

/* ---- counting ----------------------------------------------------------- */

lab_tensor *lab_ref(lab_tensor *t)
{
    t->refs++;
    return t;
}

/* History and gradient are released before the memory. */
static void tensor_end(lab_tensor *t)
{
    struct lab__storage *storage = t->storage;
    bool is_paired = t == &((struct lab__pair *)storage)->tensor;

    if (t->meta != NULL)
        t->meta->destroy(t->meta);
    t->meta = NULL;
    lab__storage_unref(storage);
    if (!is_paired)
        lab__host_free(t);
}

void lab_unref(lab_tensor *t)
{
    if (t != NULL && --t->refs == 0)
        tensor_end(t);
}

/* ---- accessors ---------------------------------------------------------- */

lab *lab_session(const lab_tensor *t)
{
    return t->storage->session;
}

lab_dtype lab_dtype_of(const lab_tensor *t)
{
    return t->dtype;
}

lab_place lab_place_of(const lab_tensor *t)
{
    return t->storage->place;
}

int lab_ndim(const lab_tensor *t)
{
    return t->ndim;
}

const int64_t *lab_sizes(const lab_tensor *t)
{
    return t->sizes;
}

const int64_t *lab_strides(const lab_tensor *t)
{
    return t->strides;
}

int64_t lab_numel(const lab_tensor *t)
{
    return lab__count(t->ndim, t->sizes);
}

bool lab_is_contiguous(const lab_tensor *t)
{
    int64_t next = 1;

    for (int i = t->ndim; i-- > 0;) {
        if (t->sizes[i] == 0)
            return true;
    }
    for (int i = t->ndim; i-- > 0;) {
        if (t->sizes[i] != 1 && t->strides[i] != next)
            return false;
        next *= t->sizes[i];
    }
    return true;
}

uint64_t lab_address(const lab_tensor *t)
{
    if (t->storage->bytes == 0)
        return 0;
    return t->storage->address +
           (uint64_t)t->offset * lab__dtype_bytes(t->dtype);
}

uint64_t lab_storage_bytes(const lab_tensor *t)
{
    return t->storage->bytes;
}

uint64_t lab_storage_id(const lab_tensor *t)
{
    return t->storage->id;
}

static bool is_of_parent(const lab *l)
{
    return l->process != getpid();
}

larder_result lab__check_session(const char *op, const lab *l)
{
    if (!is_of_parent(l))
        return LARDER_OK;
    return lab__fail(LARDER_ERR_FORKED,
                     "%s: the session was opened before a fork: it is the "
                     "parent process's",
                     op);
}

/* Host memory is the child's own copy. */
larder_result lab__check_process(const char *op, const lab_tensor *t)
{
    return t->storage->place == LAB_HOST
               ? LARDER_OK
               : lab__check_session(op, t->storage->session);
}

bool lab__readable(const lab_tensor *t)
{
    const lab *l = t->storage->session;

    return t->storage->place == LAB_HOST || (l->computes && !is_of_parent(l));
}

bool lab__readable_all(int count, const lab_tensor *const *ts)
{
    for (int i = 0; i < count; i++) {
        if (ts[i] != NULL && !lab__readable(ts[i]))
            return false;
    }
    return true;
}

void *lab__data(const lab_tensor *t)
{
    const struct lab__storage *s = t->storage;
    char *values = s->values;

    if (values == NULL)
        return (void *)(uintptr_t)lab_address(t);
    return values + (uint64_t)t->offset * lab__dtype_bytes(t->kind);
}

float *lab__floats(const lab_tensor *t)
{
    return t != NULL ? lab__data(t) : NULL;
}
