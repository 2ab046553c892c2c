/* narrow.c - types whose values loops access in another type (T3 in tensor.h):
 * rounding and packing. */
#include "tensor/tensor.h"

#include <math.h>

#include "tensor/float_math.h"
#include "tensor/odometer.h"

/* ---- the floats of two bytes -------------------------------------------- */

/* The upper half of a float's bits, rounded to nearest even. */
static uint16_t bfloat16_bits(float x)
{
    uint32_t bits = lab__bits(x);

    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float bfloat16_value(uint16_t bits)
{
    return lab__from_bits((uint32_t)bits << 16);
}

/* Ten bits of fraction; steps of 2^-24 below 2^-14; infinite from 65520 on. */
static uint16_t float16_bits(float x)
{
    uint32_t sign = lab__bits(x) >> 16 & 0x8000;
    float size = fabsf(x);
    uint32_t bits = lab__bits(size);

    if (isnan(x))
        return (uint16_t)(sign | 0x7e00);
    if (size >= 65520.0f)
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14f)
        return (uint16_t)(sign | (uint32_t)rintf(size * 0x1p24f));
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits >> 13) - (112u << 10)));
}

static float float16_value(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = bits & 0x7fff;
    float x;

    if (size >= 0x7c00)
        return lab__from_bits(sign | 0x7f800000 | (size & 0x3ff) << 13);
    x = size < 0x400 ? (float)size * 0x1p-24f
                     : lab__from_bits((size + (112u << 10)) << 13);
    return sign != 0 ? -x : x;
}

/* ---- rounding ----------------------------------------------------------- */

#define ROUND_ROW(name, T, rounded)                                            \
    static void name(const void *context, int64_t n, char *const *at,          \
                     const int64_t *step)                                      \
    {                                                                          \
        T *to = (T *)(void *)at[0];                                            \
                                                                               \
        (void)context;                                                         \
        for (int64_t i = 0; i < n; i++) {                                      \
            T x = to[i * step[0]];                                             \
                                                                               \
            to[i * step[0]] = (T)(rounded);                                    \
        }                                                                      \
    }

ROUND_ROW(round_float16, float, float16_value(float16_bits(x)))
ROUND_ROW(round_bfloat16, float, bfloat16_value(bfloat16_bits(x)))
ROUND_ROW(round_int32, int64_t, (int32_t)(uint64_t)x)
ROUND_ROW(round_int16, int64_t, (int16_t)(uint64_t)x)
ROUND_ROW(round_int8, int64_t, (int8_t)(uint64_t)x)
ROUND_ROW(round_uint8, int64_t, (uint8_t)(uint64_t)x)

static const lab__row_fn round_rows[LAB_UINT8 + 1] = {
    [LAB_FLOAT16] = round_float16, [LAB_BFLOAT16] = round_bfloat16,
    [LAB_INT32] = round_int32,     [LAB_INT16] = round_int16,
    [LAB_INT8] = round_int8,       [LAB_UINT8] = round_uint8,
};

void lab__round(const lab_tensor *t)
{
    const lab_tensor *one[] = {t};
    struct lab__odometer o;

    if (round_rows[t->dtype] != NULL && lab__odometer_init(&o, 1, one))
        lab__odometer_run(t->storage->session, &o, LAB__GRAIN,
                          round_rows[t->dtype], NULL);
}

/* ---- bytes -------------------------------------------------------------- */

/* K: the kind's type; T: the type of an element. */
#define PACKING(name, K, T, packed, unpacked)                                  \
    static void pack_##name(void *bytes, const void *values, int64_t n)        \
    {                                                                          \
        const K *from = values;                                                \
        T *to = bytes;                                                         \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            to[i] = (T)packed(from[i]);                                        \
    }                                                                          \
    static void unpack_##name(void *values, const void *bytes, int64_t n)      \
    {                                                                          \
        const T *from = bytes;                                                 \
        K *to = values;                                                        \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            to[i] = (K)unpacked(from[i]);                                      \
    }

#define AS_IS(x) (x)

PACKING(float16, float, uint16_t, float16_bits, float16_value)
PACKING(bfloat16, float, uint16_t, bfloat16_bits, bfloat16_value)
PACKING(float64, float, double, AS_IS, AS_IS)
PACKING(int32, int64_t, int32_t, AS_IS, AS_IS)
PACKING(int16, int64_t, int16_t, AS_IS, AS_IS)
PACKING(int8, int64_t, int8_t, AS_IS, AS_IS)
PACKING(uint8, int64_t, uint8_t, AS_IS, AS_IS)

static const struct packing {
    void (*pack)(void *bytes, const void *values, int64_t n);
    void (*unpack)(void *values, const void *bytes, int64_t n);
} packings[] = {
    [LAB_FLOAT16] = {pack_float16, unpack_float16},
    [LAB_BFLOAT16] = {pack_bfloat16, unpack_bfloat16},
    [LAB_FLOAT64] = {pack_float64, unpack_float64},
    [LAB_INT32] = {pack_int32, unpack_int32},
    [LAB_INT16] = {pack_int16, unpack_int16},
    [LAB_INT8] = {pack_int8, unpack_int8},
    [LAB_UINT8] = {pack_uint8, unpack_uint8},
};

void lab__pack(lab_dtype dtype, void *bytes, const void *values, int64_t n)
{
    packings[dtype].pack(bytes, values, n);
}

void lab__unpack(lab_dtype dtype, void *values, const void *bytes, int64_t n)
{
    packings[dtype].unpack(values, bytes, n);
}
