/* nccl_value.c - types of values, and their reductions.
 *
 * Integers wrap.  Half and bfloat16 are reduced as floats, two at a time, and
 * rounded each time; NCCL's own order of additions is not known. */
#include "nccl_value.h"

#include <stdint.h>
#include <string.h>

/* By ncclDataType_t. */
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BFLOAT };

static const struct {
    const char *name;
    unsigned char bytes;
} types[] = {
    {"int8", 1},    {"uint8", 1},    {"int32", 4},       {"uint32", 4},
    {"int64", 8},   {"uint64", 8},   {"float16", 2},     {"float32", 4},
    {"float64", 8}, {"bfloat16", 2}, {"float8_e4m3", 1}, {"float8_e5m2", 1},
};

static bool is_type(int type)
{
    return type >= 0 && (size_t)type < sizeof types / sizeof types[0];
}

size_t nccl_type_bytes(int type)
{
    return is_type(type) ? types[type].bytes : 0;
}

const char *nccl_type_name(int type)
{
    return is_type(type) ? types[type].name : "unknown type";
}

const char *nccl_operation_name(int operation)
{
    static const char *const names[] = {"sum", "product", "max", "min",
                                        "average"};

    return operation >= 0 && operation <= NCCL_AVERAGE
               ? names[operation]
               : "a user-defined operation";
}

bool nccl_is_reduced(int type, int operation)
{
    return type >= 0 && type <= BFLOAT && operation >= 0 &&
           operation <= NCCL_AVERAGE;
}

/* ---- half precision ------------------------------------------------------- */

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bfloat(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

/* Both are rounded to the nearest, ties to even. */
static uint16_t bfloat_of_float(float value)
{
    uint32_t bits = bits_of_float(value);

    if ((bits & 0x7fffffff) > 0x7f800000) /* not a number */
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;

    if (exponent == 31)
        return float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return float_of_bits(sign | bits_of_float((float)fraction * 0x1p-24f));
    return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

static uint16_t half_of_float(float value)
{
    const uint32_t infinity = 0x7f800000;
    const uint32_t too_large = 0x477ff000; /* 65520 */
    const uint32_t least = 0x38800000;     /* 2 to the -14 */
    uint32_t bits = bits_of_float(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    bits &= 0x7fffffff;
    if (bits > infinity)
        return 0x7e00;
    if (bits >= too_large)
        return sign | 0x7c00;
    /* Floats from a half on have steps of 2 to the -24, as small halves. */
    if (bits < least)
        return (uint16_t)(sign + bits_of_float(float_of_bits(bits) + 0.5f) -
                          bits_of_float(0.5f));
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign + ((bits - ((uint32_t)112 << 23)) >> 13));
}

/* ---- reductions ----------------------------------------------------------- */

#define ADD_WHOLE(a, b, out) ((void)__builtin_add_overflow(a, b, out))
#define MULTIPLY_WHOLE(a, b, out) ((void)__builtin_mul_overflow(a, b, out))
#define ADD_FLOAT(a, b, out) ((void)(*(out) = (a) + (b)))
#define MULTIPLY_FLOAT(a, b, out) ((void)(*(out) = (a) * (b)))

#define FOLD(name, type, add, multiply)                                        \
    static type name##_of(type a, type b, int operation)                       \
    {                                                                          \
        type out;                                                              \
                                                                               \
        switch (operation) {                                                   \
        case NCCL_PRODUCT:                                                     \
            multiply(a, b, &out);                                              \
            return out;                                                        \
        case NCCL_MAX:                                                         \
            return a > b ? a : b;                                              \
        case NCCL_MIN:                                                         \
            return a < b ? a : b;                                              \
        default:                                                               \
            add(a, b, &out);                                                   \
            return out;                                                        \
        }                                                                      \
    }                                                                          \
    static void name##_fold(void *to, const void *from, size_t count,          \
                            int operation)                                     \
    {                                                                          \
        type *a = to;                                                          \
        const type *b = from;                                                  \
                                                                               \
        for (size_t i = 0; i < count; i++)                                     \
            a[i] = name##_of(a[i], b[i], operation);                           \
    }                                                                          \
    static void name##_divide(void *to, size_t count, int ranks)               \
    {                                                                          \
        type *a = to;                                                          \
                                                                               \
        for (size_t i = 0; i < count; i++)                                     \
            a[i] = (type)(a[i] / ranks);                                       \
    }

FOLD(int8, int8_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(uint8, uint8_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(int32, int32_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(uint32, uint32_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(int64, int64_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(uint64, uint64_t, ADD_WHOLE, MULTIPLY_WHOLE)
FOLD(float, float, ADD_FLOAT, MULTIPLY_FLOAT)
FOLD(double, double, ADD_FLOAT, MULTIPLY_FLOAT)

#define FOLD_SHORT(name, to_float, of_float)                                   \
    static void name##_fold(void *to, const void *from, size_t count,          \
                            int operation)                                     \
    {                                                                          \
        uint16_t *a = to;                                                      \
        const uint16_t *b = from;                                              \
                                                                               \
        for (size_t i = 0; i < count; i++)                                     \
            a[i] =                                                             \
                of_float(float_of(to_float(a[i]), to_float(b[i]), operation)); \
    }                                                                          \
    static void name##_divide(void *to, size_t count, int ranks)               \
    {                                                                          \
        uint16_t *a = to;                                                      \
                                                                               \
        for (size_t i = 0; i < count; i++)                                     \
            a[i] = of_float(to_float(a[i]) / (float)ranks);                    \
    }

FOLD_SHORT(half, float_of_half, half_of_float)
FOLD_SHORT(bfloat, float_of_bfloat, bfloat_of_float)

static const struct {
    void (*fold)(void *, const void *, size_t, int);
    void (*divide)(void *, size_t, int);
} folds[] = {
    [INT8] = {int8_fold, int8_divide},
    [UINT8] = {uint8_fold, uint8_divide},
    [INT32] = {int32_fold, int32_divide},
    [UINT32] = {uint32_fold, uint32_divide},
    [INT64] = {int64_fold, int64_divide},
    [UINT64] = {uint64_fold, uint64_divide},
    [HALF] = {half_fold, half_divide},
    [FLOAT] = {float_fold, float_divide},
    [DOUBLE] = {double_fold, double_divide},
    [BFLOAT] = {bfloat_fold, bfloat_divide},
};

void nccl_fold(void *to, const void *from, size_t count, int type,
               int operation)
{
    folds[type].fold(to, from, count, operation);
}

void nccl_fold_end(void *to, size_t count, int type, int operation, int ranks)
{
    if (operation == NCCL_AVERAGE)
        folds[type].divide(to, count, ranks);
}
