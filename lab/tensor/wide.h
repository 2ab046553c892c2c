/* wide.h - loops compiled twice on x86-64: for every CPU, and for those with
 * AVX2 and FMA, selected at run time.
 *
 * Write the loop as `LAB__BODY name##_body(...)`, then LAB__TWICE(name,
 * parameters, arguments): name(...) runs the better version. */
#pragma once

#include <stdbool.h>

#define LAB__BODY static inline __attribute__((always_inline)) void
#define LAB__INLINE static inline __attribute__((always_inline))

/* Before a loop: no iteration reads what another one writes. */
#if defined(__clang__)
#define LAB__NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LAB__NO_OVERLAP _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__)

#define LAB__HAS_WIDE 1
#define LAB__WIDE __attribute__((target("avx2,fma")))

static inline bool lab__is_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define LAB__TWICE(name, parameters, arguments)                                \
    LAB__WIDE static void name##_wide parameters                               \
    {                                                                          \
        name##_body arguments;                                                 \
    }                                                                          \
    static void name##_any parameters                                          \
    {                                                                          \
        name##_body arguments;                                                 \
    }                                                                          \
    static void name parameters                                                \
    {                                                                          \
        if (lab__is_wide())                                                    \
            name##_wide arguments;                                             \
        else                                                                   \
            name##_any arguments;                                              \
    }

#else

#define LAB__TWICE(name, parameters, arguments)                                \
    static void name parameters                                                \
    {                                                                          \
        name##_body arguments;                                                 \
    }

#endif
