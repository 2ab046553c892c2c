/* float_math.h - exponentials, logarithms and functions built from them, for
 * vectorised loops: no branches, no calls, no tables.
 *
 * Relative errors are a few 1e-7.  NaN gives NaN, and infinities give the
 * functions' limits.  The polynomials are minimax fits over the reduced range;
 * results below 2^-126 are 0. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "tensor/wide.h"

LAB__INLINE uint32_t lab__bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

LAB__INLINE float lab__from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Added to a float below 2^22, this leaves the nearest whole number in the low
 * bits. */
#define LAB__ROUNDER 12582912.0f

/* 2^n for n in [-126, 127], given as a float with LAB__ROUNDER added. */
LAB__INLINE float lab__power_of_2(float rounded)
{
    return lab__from_bits((lab__bits(rounded) + 127u) << 23);
}

/* e^x = 2^n · e^r, |r| <= ln 2 / 2; 2^n in two factors, for its ends. */
LAB__INLINE float lab__exp(float x)
{
    float kept = x > 89.0f ? 89.0f : x; /* e^89 is infinite */
    float rounded, n, r, p, half, low;

    kept = kept < -88.0f ? -88.0f : kept;
    rounded = kept * 1.44269504f + LAB__ROUNDER;
    n = rounded - LAB__ROUNDER;
    r = kept - n * 0.693145752f;
    r = r - n * 1.42860677e-6f;
    p = 1.99178287e-4f;
    p = p * r + 1.394608398e-3f;
    p = p * r + 8.333265419e-3f;
    p = p * r + 4.166626973e-2f;
    p = p * r + 1.666666686e-1f;
    p = p * r + 5.000000078e-1f;
    p = p * (r * r) + r;
    p = p + 1.0f;
    half = n * 0.5f + LAB__ROUNDER;
    low = n - (half - LAB__ROUNDER) + LAB__ROUNDER;
    p = p * lab__power_of_2(half) * lab__power_of_2(low);
    return x < -87.3f ? 0.0f : p;
}

/* ln x = e·ln 2 + ln m, m between √½ and √2; x not below 2^-126, finite. */
LAB__INLINE float lab__log_normal(float x)
{
    uint32_t bits = lab__bits(x) - 0x3f3504f3u; /* √½: where m begins */
    float e = (float)((int32_t)bits >> 23);
    float f = lab__from_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -7.859545870e-02f;

    p = p * f + 1.288162240e-01f;
    p = p * f - 1.312876763e-01f;
    p = p * f + 1.418119611e-01f;
    p = p * f - 1.662455314e-01f;
    p = p * f + 2.000228608e-01f;
    p = p * f - 2.500081043e-01f;
    p = p * f + 3.333331673e-01f;
    p = p * (f * f * f) + e * 1.42860677e-6f;
    p = p - 0.5f * (f * f);
    return p + f + e * 0.693145752f;
}

LAB__INLINE float lab__log(float x)
{
    float large = x < 1.17549435e-38f ? x * 8388608.0f : x;
    float less = x < 1.17549435e-38f ? 15.942385f : 0.0f; /* 23·ln 2 */
    float y = lab__log_normal(large) - less;

    y = x == 0.0f ? -__builtin_inff() : y;
    y = x < 0.0f ? __builtin_nanf("") : y;
    return x < __builtin_inff() ? y : x; /* infinity, and NaN */
}

/* sin and cos of 2π·x for x in [0, 1). */
LAB__INLINE void lab__sincos_turn(float x, float *sine, float *cosine)
{
    float rounded = x * 4.0f + LAB__ROUNDER;
    uint32_t quarter = lab__bits(rounded);
    float a = (x - (rounded - LAB__ROUNDER) * 0.25f) * 6.28318531f;
    float z = a * a;
    float s = (-1.951677682e-04f * z + 8.332174408e-03f) * z - 1.666665489e-01f;
    float c = (2.443786515e-05f * z - 1.388736258e-03f) * z + 4.166664677e-02f;
    float first, second;

    s = a + a * z * s;
    c = 1.0f - 0.5f * z + z * z * c;
    first = (quarter & 1u) != 0 ? c : s;
    second = (quarter & 1u) != 0 ? s : c;
    *sine = lab__from_bits(lab__bits(first) ^ (quarter & 2u) << 30);
    *cosine = lab__from_bits(lab__bits(second) ^ ((quarter + 1u) & 2u) << 30);
}

LAB__INLINE float lab__tanh(float x)
{
    float size = __builtin_fabsf(x);
    float z = x * x;
    float p = -5.717036561e-03f;
    float far = 1.0f - 2.0f / (lab__exp(2.0f * size) + 1.0f);
    float near;

    p = p * z + 2.065057900e-02f;
    p = p * z - 5.374349526e-02f;
    p = p * z + 1.333149125e-01f;
    p = p * z - 3.333328392e-01f;
    near = x + x * z * p;
    return size < 0.625f ? near : __builtin_copysignf(far, x);
}

LAB__INLINE float lab__sigmoid(float x)
{
    return 1.0f / (1.0f + lab__exp(-x));
}

/* erfc(x) for x >= 0: e^(-x²) times a polynomial in 1 / (1 + 0.3x). */
LAB__INLINE float lab__erfc_positive(float x)
{
    float t = 1.0f / (1.0f + 0.3f * x);
    float p = -1.295228359e-01f;

    p = p * t + 4.855628954e-01f;
    p = p * t - 5.122774851e-01f;
    p = p * t + 5.477193995e-01f;
    p = p * t - 9.465033990e-02f;
    p = p * t + 2.149259181e-01f;
    p = p * t + 1.483391990e-01f;
    p = p * t + 1.707152241e-01f;
    p = p * t + 1.691880053e-01f;
    return p * t * lab__exp(-x * x);
}

/* The normal distribution: the probability of a value below x. */
LAB__INLINE float lab__normal_below(float x)
{
    float tail = 0.5f * lab__erfc_positive(__builtin_fabsf(x) * 0.707106781f);

    return x < 0.0f ? tail : 1.0f - tail;
}

/* The density of the normal distribution at x. */
LAB__INLINE float lab__normal_density(float x)
{
    return 0.398942280f * lab__exp(-0.5f * x * x);
}
