/* cuda_rig.h - shared by the backend's tests: control of the stand-in driver,
 * its calls by name, and devices opened on it.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "support/rig.h"

#include <dlfcn.h>

#include "device/device.h"
#include "driver/fake_entries.h"
#include "driver/fakecuda.h"

static inline void *fake_symbol(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, name);

    if (symbol == NULL)
        print_error("no %s in libcuda.so.1: run this through ctest\n", name);
    assert_non_null(symbol);
    return symbol;
}

static inline const struct fakecuda_control *fake(void)
{
    fakecuda_control_fn *fn;
    void *symbol = fake_symbol(FAKECUDA_CONTROL);

    memcpy(&fn, &symbol, sizeof fn);
    return fn();
}

/* A driver call as a program would make it: DRIVER(cuMemMap)(...). */
#define DRIVER(name) (*(__typeof__(&name) *)(void *[1]){fake_symbol(#name)})

/* Recreates device `number` of the stand-in and opens it through the
 * backend. */
static inline larder_device *cuda_up(const char *sim, int number,
                                     const char *settings)
{
    char spec[128];
    larder_device *dev = NULL;
    int got = -1;

    snprintf(spec, sizeof spec, "%s,count=64", sim);
    assert_ok(fake()->add(spec, number, &got));
    assert_int_equal(got, number);
    snprintf(spec, sizeof spec, "cuda:%d%s", number, settings);
    assert_ok(larder_device_open(spec, 0, &dev));
    return dev;
}

/* Recreates the first `count` devices of the stand-in.  The context of the first
 * is current in this thread. */
static inline void context_up(const char *sim, int count)
{
    static cud_context own;

    assert_int_equal(DRIVER(cuInit)(0), 0);
    for (int i = 0; i < count; i++) {
        int got;

        assert_ok(fake()->add(sim, i, &got));
    }
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), 0);
    fake()->forget();
}

static inline void context_down(int count)
{
    cud_context popped;

    DRIVER(cuCtxPopCurrent_v2)(&popped);
    for (int i = 0; i < count; i++)
        fake()->remove(i);
    fake()->forget();
}

static inline void cuda_down(larder_device *dev, int number)
{
    assert_ok(larder_device_close(dev));
    fake()->remove(number);
    fake()->forget();
}

/* A rule was broken since the last check, and the record contains these
 * words. */
static inline void assert_broken(const char *words)
{
    if (fake()->broken() == 0 || strstr(fake()->lines(), words) == NULL)
        print_error("'%s' is not in the broken rules:\n%s\n", words,
                    fake()->lines());
    assert_true(fake()->broken() > 0);
    assert_non_null(strstr(fake()->lines(), words));
    fake()->forget();
}
