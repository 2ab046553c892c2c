/* preload_rig.h - shared by the tests of the preload library: its hooks are
 * linked into the program, over the stand-in driver, which is opened as any
 * program would open it.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "cuda/cuda_rig.h"
#include "preload_state.h"

/* Calls of the driver's function so far. */
#define CALLS(symbol) fake()->calls(#symbol)

static inline cud_context rig_context(int device)
{
    cud_context own = NULL;

    assert_int_equal(DRIVER(cuInit)(0), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, device), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), CUD_SUCCESS);
    return own;
}

static inline cud_addr allocate(size_t bytes)
{
    cud_addr addr = 0;

    assert_int_equal(cuMemAlloc_v2(&addr, bytes), CUD_SUCCESS);
    assert_int_not_equal(addr, 0);
    return addr;
}

static inline void release(cud_addr addr)
{
    assert_int_equal(cuMemFree_v2(addr), CUD_SUCCESS);
}

static inline cud_stream new_stream(void)
{
    cud_stream stream = NULL;

    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 1), CUD_SUCCESS);
    return stream;
}

/* Writes all bytes of the range. */
static inline void write_all(cud_addr addr, unsigned char value, size_t bytes)
{
    assert_int_equal(DRIVER(cuMemsetD8_v2)(addr, value, bytes), CUD_SUCCESS);
}

static inline bool reads_all(cud_addr addr, unsigned char value, size_t bytes)
{
    unsigned char *copy = malloc(bytes);
    bool same;

    assert_non_null(copy);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(copy, addr, bytes), CUD_SUCCESS);
    same = copy[0] == value && memcmp(copy, copy + 1, bytes - 1) == 0;
    free(copy);
    return same;
}

static inline larder_preload_stats stats_now(void)
{
    larder_preload_stats s = {.size = sizeof s};

    assert_ok(larder_preload_stats_get(0, &s));
    return s;
}

/* Every test begins with an empty cache, and breaks no rule. */
static inline int rig_fresh(void **state)
{
    (void)state;
    (void)rig_context(0);
    (void)larder_preload_empty_cache(0);
    fake()->forget();
    return 0;
}

static inline int rig_clean(void **state)
{
    unsigned long broken = fake()->broken();
    cud_context popped;

    (void)state;
    fake()->plan(NULL, 0, 0, 0);
    if (broken != 0)
        print_error("broken rules:\n%s", fake()->lines());
    fake()->forget();
    DRIVER(cuCtxPopCurrent_v2)(&popped);
    return broken != 0;
}

#define PRELOAD_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, rig_fresh, rig_clean)
