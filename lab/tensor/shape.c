/* shape.c - arithmetic on sizes, types and places, and the checks that
 * operations share. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- types and places --------------------------------------------------- */

struct dtype {
    const char *name;
    size_t bytes;
    lab_dtype kind;
};

static const struct dtype *dtype_get(lab_dtype dtype)
{
    static const struct dtype
        none = {"?", 0, LAB_BOOL},
        dtypes[] = {
            [LAB_FLOAT32] = {"float32", sizeof(float), LAB_FLOAT32},
            [LAB_INT64] = {"int64", sizeof(int64_t), LAB_INT64},
            [LAB_BOOL] = {"bool", 1, LAB_BOOL},
            [LAB_FLOAT16] = {"float16", 2, LAB_FLOAT32},
            [LAB_BFLOAT16] = {"bfloat16", 2, LAB_FLOAT32},
            [LAB_FLOAT64] = {"float64", sizeof(double), LAB_FLOAT32},
            [LAB_INT32] = {"int32", sizeof(int32_t), LAB_INT64},
            [LAB_INT16] = {"int16", sizeof(int16_t), LAB_INT64},
            [LAB_INT8] = {"int8", 1, LAB_INT64},
            [LAB_UINT8] = {"uint8", 1, LAB_INT64},
        };

    return (unsigned)dtype <= LAB_UINT8 ? &dtypes[dtype] : &none;
}

size_t lab__dtype_bytes(lab_dtype dtype)
{
    return dtype_get(dtype)->bytes;
}

lab_dtype lab__kind_of(lab_dtype dtype)
{
    return dtype_get(dtype)->kind;
}

const char *lab__dtype_name(lab_dtype dtype)
{
    return dtype_get(dtype)->name;
}

const char *lab__place_name(lab_place place)
{
    return place == LAB_DEVICE ? "cuda:0" : "cpu";
}

/* ---- sizes -------------------------------------------------------------- */

int64_t lab__count(int ndim, const int64_t *sizes)
{
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == 0)
            return 0;
    }
    return lab__reach(ndim, sizes);
}

int64_t lab__reach(int ndim, const int64_t *sizes)
{
    const int64_t max = INT64_C(1) << 62;
    int64_t reach = 1;

    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == 0)
            continue;
        if (reach > max / sizes[i])
            return -1;
        reach *= sizes[i];
    }
    return reach;
}

void lab__strides_of(int ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t next = 1;

    for (int i = ndim; i-- > 0;) {
        strides[i] = next;
        next *= sizes[i] > 1 ? sizes[i] : 1;
    }
}

int lab__reduced_sizes(const lab_tensor *t, unsigned dims, bool keep,
                       int64_t sizes[LAB_MAX_DIMS])
{
    int n = 0;

    for (int d = 0; d < t->ndim; d++) {
        if ((dims & 1U << d) == 0)
            sizes[n++] = t->sizes[d];
        else if (keep)
            sizes[n++] = 1;
    }
    return n;
}

bool lab__is_sized(const lab_tensor *t, int ndim, const int64_t *sizes)
{
    return t->ndim == ndim &&
           memcmp(t->sizes, sizes, (size_t)ndim * sizeof *sizes) == 0;
}

bool lab__same_sizes(const lab_tensor *a, const lab_tensor *b)
{
    return lab__is_sized(a, b->ndim, b->sizes);
}

bool lab__fits(int ndim, const int64_t *sizes, const lab_tensor *t)
{
    if (ndim > t->ndim)
        return false;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] != 1 && sizes[i] != t->sizes[t->ndim - ndim + i])
            return false;
    }
    return true;
}

const char *lab__shape_text(int ndim, const int64_t *sizes,
                            char buf[LAB__SHAPE_TEXT])
{
    size_t used = 1;

    buf[0] = '[';
    for (int i = 0; i < ndim; i++)
        used += (size_t)snprintf(buf + used, LAB__SHAPE_TEXT - used,
                                 "%s%" PRId64, i == 0 ? "" : ", ", sizes[i]);
    buf[used] = ']';
    buf[used + 1] = '\0';
    return buf;
}

/* ---- checks ------------------------------------------------------------- */

larder_result lab__check_shape(lab_dtype dtype, lab_place place, int ndim,
                               const int64_t *sizes)
{
    char text[LAB__SHAPE_TEXT];
    int64_t count;

    if (lab__dtype_bytes(dtype) == 0)
        return lab__invalid("%d is not a dtype", (int)dtype);
    if (place != LAB_HOST && place != LAB_DEVICE)
        return lab__invalid("%d is not a place", (int)place);
    if (ndim < 0 || ndim > LAB_MAX_DIMS)
        return lab__invalid("a tensor of %d dimensions: it can have 0 to %d",
                            ndim, LAB_MAX_DIMS);
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] < 0)
            return lab__invalid("a tensor of sizes %s: none may be negative",
                                lab__shape_text(ndim, sizes, text));
    }
    count = lab__count(ndim, sizes);
    if (count < 0 || lab__reach(ndim, sizes) < 0 ||
        (uint64_t)count > (UINT64_C(1) << 62) / lab__dtype_bytes(dtype))
        return lab__invalid(
            "a tensor of sizes %s: its bytes are too many to count",
            lab__shape_text(ndim, sizes, text));
    return LARDER_OK;
}

larder_result lab__check_dim(const char *op, const lab_tensor *t, int *dim)
{
    int ndim = t->ndim;
    int dims = ndim > 0 ? ndim : 1; /* a number accepts 0 and -1 too */

    if (*dim < -dims || *dim >= dims)
        return lab__invalid("%s: Dimension out of range (expected to be in "
                            "range of [%d, %d], but got %d)",
                            op, -dims, dims - 1, *dim);
    if (*dim < 0)
        *dim += dims;
    return LARDER_OK;
}

larder_result lab__check_float(const char *op, const lab_tensor *t)
{
    if (t->kind == LAB_FLOAT32)
        return LARDER_OK;
    return lab__invalid("%s: expected a tensor of float32, but got %s", op,
                        lab__dtype_name(t->dtype));
}

larder_result lab__check_place(const char *op, const lab_tensor *a,
                               const lab_tensor *b)
{
    if (a->storage->session != b->storage->session)
        return lab__invalid("%s: the tensors belong to two sessions", op);
    if (a->storage->place == b->storage->place)
        return LARDER_OK;
    return lab__invalid("%s: Expected all tensors to be on the same device, "
                        "but found at least two devices, cuda:0 and cpu!",
                        op);
}

larder_result lab__check_writable(const char *op, const lab_tensor *t)
{
    LAB__TRY(lab__check_process(op, t));
    if (lab_numel(t) == 0)
        return LARDER_OK;
    for (int i = 0; i < t->ndim; i++) {
        if (t->sizes[i] > 1 && t->strides[i] == 0)
            return lab__invalid("%s: unsupported operation: more than one "
                                "element of the written-to tensor refers to a "
                                "single memory location; clone() it first",
                                op);
    }
    return LARDER_OK;
}

static int64_t size_from_end(int ndim, const int64_t *sizes, int i)
{
    return i < ndim ? sizes[ndim - 1 - i] : 1;
}

larder_result lab__broadcast_with(const char *op, int more_ndim,
                                  const int64_t *more, int *ndim,
                                  int64_t sizes[LAB_MAX_DIMS])
{
    int dims = *ndim > more_ndim ? *ndim : more_ndim;
    int64_t result[LAB_MAX_DIMS];

    for (int i = 0; i < dims; i++) {
        int64_t m = size_from_end(*ndim, sizes, i);
        int64_t n = size_from_end(more_ndim, more, i);

        if (m != n && m != 1 && n != 1)
            return lab__invalid("%s: The size of tensor a (%" PRId64
                                ") must match the size of tensor b (%" PRId64
                                ") at non-singleton dimension %d",
                                op, m, n, dims - 1 - i);
        result[dims - 1 - i] = m == 1 ? n : m;
    }
    for (int i = 0; i < dims; i++)
        sizes[i] = result[i];
    *ndim = dims;
    return LARDER_OK;
}

larder_result lab__broadcast(const char *op, const lab_tensor *a,
                             const lab_tensor *b, int *ndim,
                             int64_t sizes[LAB_MAX_DIMS])
{
    *ndim = 0;
    LAB__TRY(lab__broadcast_with(op, a->ndim, a->sizes, ndim, sizes));
    return lab__broadcast_with(op, b->ndim, b->sizes, ndim, sizes);
}
