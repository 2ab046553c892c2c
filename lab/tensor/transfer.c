/* transfer.c - copies between tensors of any types and places, and to and from
 * the caller. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tensor/element.h"
#include "tensor/host_memory.h"
#include "tensor/odometer.h"

/* ---- copying ------------------------------------------------------------ */

#define AS_IS(x) (x)
#define IS_TRUE(x) ((x) != 0)

/* n elements of type B from `at[1]` to elements of type A at `at[0]`. */
#define COPY_ROW(name, A, B, CONVERT)                                          \
    static void name(const void *context, int64_t n, char *const *at,          \
                     const int64_t *step)                                      \
    {                                                                          \
        A *to = (A *)(void *)at[0];                                            \
        const B *from = (const B *)(const void *)at[1];                        \
        int64_t down = step[0], up = step[1];                                  \
                                                                               \
        (void)context;                                                         \
        if (down == 1 && up == 1) {                                            \
            for (int64_t i = 0; i < n; i++)                                    \
                to[i] = (A)CONVERT(from[i]);                                   \
        } else if (down == 1 && up == 0) {                                     \
            A value = (A)CONVERT(*from);                                       \
                                                                               \
            for (int64_t i = 0; i < n; i++)                                    \
                to[i] = value;                                                 \
        } else {                                                               \
            for (int64_t i = 0; i < n; i++)                                    \
                to[i * down] = (A)CONVERT(from[i * up]);                       \
        }                                                                      \
    }

COPY_ROW(copy_f_f, float, float, AS_IS)
COPY_ROW(copy_f_i, float, int64_t, AS_IS)
COPY_ROW(copy_f_b, float, unsigned char, AS_IS)
COPY_ROW(copy_i_f, int64_t, float, lab__to_int64)
COPY_ROW(copy_i_i, int64_t, int64_t, AS_IS)
COPY_ROW(copy_i_b, int64_t, unsigned char, AS_IS)
COPY_ROW(copy_b_f, unsigned char, float, IS_TRUE)
COPY_ROW(copy_b_i, unsigned char, int64_t, IS_TRUE)
COPY_ROW(copy_b_b, unsigned char, unsigned char, IS_TRUE)

/* [to][from] */
static const lab__row_fn copy_rows[3][3] = {
    {copy_f_f, copy_f_i, copy_f_b},
    {copy_i_f, copy_i_i, copy_i_b},
    {copy_b_f, copy_b_i, copy_b_b},
};

larder_result lab__copy(lab_tensor *a, const lab_tensor *b)
{
    const lab_tensor *both[] = {a, b};
    struct lab__odometer o;

    LAB__TRY(lab__check_process("copy", a));
    LAB__TRY(lab__check_process("copy", b));
    if (lab__odometer_init(&o, 2, both)) {
        lab__odometer_run(a->storage->session, &o, LAB__GRAIN,
                          copy_rows[a->kind][b->kind], NULL);
        lab__round(a);
    }
    return LARDER_OK;
}

/* ---- filling ------------------------------------------------------------ */

const lab_tensor *lab__number_make(struct lab__number *n, lab *l,
                                   lab_dtype kind, double value)
{
    lab__element_set(&n->value, kind, 0, value);
    lab__pair_wrap(&n->pair, l, kind, 0, NULL, &n->value);
    return &n->pair.tensor;
}

larder_result lab__fill(lab_tensor *a, double value)
{
    struct lab__number n;

    LAB__TRY(lab__check_process("fill", a));
    return lab__copy(a, lab__number_make(&n, lab_session(a), a->kind, value));
}

/* ---- reading and writing ------------------------------------------------ */

static larder_result bytes_check(const char *op, const lab_tensor *t,
                                 uint64_t bytes)
{
    uint64_t want = (uint64_t)lab_numel(t) * lab__dtype_bytes(t->dtype);

    if (bytes == want)
        return LARDER_OK;
    return lab__invalid("%s: the tensor has %" PRIu64 " bytes, not %" PRIu64,
                        op, want, bytes);
}

/* Read t's values, in its kind. */
static larder_result values_read(const lab_tensor *t, void *to)
{
    struct lab__pair array;

    lab__pair_wrap(&array, lab_session(t), t->kind, t->ndim, t->sizes, to);
    if (lab__readable(t))
        return lab__copy(&array.tensor, t);
    return lab__fill(&array.tensor, t->kind == LAB_FLOAT32 ? (double)NAN : 0);
}

static larder_result values_write(lab_tensor *t, const void *from)
{
    struct lab__pair array;

    lab__pair_wrap(&array, lab_session(t), t->kind, t->ndim, t->sizes, from);
    return lab__copy(t, &array.tensor);
}

static larder_result values_room(const lab_tensor *t, void **values)
{
    uint64_t bytes = (uint64_t)lab_numel(t) * lab__dtype_bytes(t->kind);

    *values = lab__host_alloc(bytes);
    return *values != NULL ? LARDER_OK : lab__fail_host(bytes);
}

larder_result lab_read(lab_tensor *t, void *to, uint64_t bytes)
{
    void *values;
    larder_result r;

    LAB__TRY(bytes_check("read", t, bytes));
    LAB__TRY(lab__check_process("read", t));
    if (bytes == 0)
        return LARDER_OK;
    if (t->dtype == t->kind)
        return values_read(t, to);
    LAB__TRY(values_room(t, &values));
    r = values_read(t, values);
    if (r == LARDER_OK)
        lab__pack(t->dtype, to, values, lab_numel(t));
    lab__host_free(values);
    return r;
}

larder_result lab_write(lab_tensor *t, const void *from, uint64_t bytes)
{
    void *values;
    larder_result r;

    LAB__TRY(bytes_check("write", t, bytes));
    LAB__TRY(lab__check_writable("write", t));
    if (bytes == 0)
        return LARDER_OK;
    t->storage->version++;
    if (t->dtype == t->kind)
        return values_write(t, from);
    LAB__TRY(values_room(t, &values));
    lab__unpack(t->dtype, values, from, lab_numel(t));
    r = values_write(t, values);
    lab__host_free(values);
    return r;
}

larder_result lab_item(lab_tensor *t, double *out)
{
    char text[LAB__SHAPE_TEXT];

    LAB__TRY(lab__check_process("item", t));
    if (lab_numel(t) != 1)
        return lab__invalid("item: a tensor of sizes %s cannot be converted to "
                            "a number: only a tensor of one element can",
                            lab__shape_text(t->ndim, t->sizes, text));
    if (lab__readable(t))
        *out = lab__element(lab__data(t), t->kind, 0);
    else
        *out = t->kind == LAB_FLOAT32 ? (double)NAN : 0;
    return LARDER_OK;
}
