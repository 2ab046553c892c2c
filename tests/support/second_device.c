/* second_device.c - runs a test a second time, on the device backend.
 *
 * The linker redirects to us the calls that open, close and control simulated
 * GPUs (--wrap).  With LARDER_TEST_DRIVER set to cuda or hip, "sim:..." creates
 * such a GPU inside the stand-in for that driver and opens it through the
 * backend; control calls go to the stand-in.  Otherwise nothing changes. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fail.h"
#include "driver/fakecuda.h"

larder_result __real_larder_device_open(const char *, int, larder_device **);
larder_result __real_larder_device_close(larder_device *);
larder_result __real_larder_sim_complete(larder_device *, larder_stream);
larder_result __real_larder_sim_launch(larder_device *, larder_stream,
                                       larder_sim_kernel *, void *);
larder_result __real_larder_sim_wait_event(larder_device *, larder_stream,
                                           uint64_t);
larder_result __real_larder_sim_capture_begin(larder_device *, larder_stream);
larder_result __real_larder_sim_capture_end(larder_device *, larder_stream);
larder_result __real_larder_sim_regions(larder_device *, larder_addr *,
                                        larder_addr *);
larder_result __real_larder_sim_get_usage(larder_device *, larder_sim_usage *);

larder_result __wrap_larder_device_open(const char *, int, larder_device **);
larder_result __wrap_larder_device_close(larder_device *);
larder_result __wrap_larder_sim_complete(larder_device *, larder_stream);
larder_result __wrap_larder_sim_launch(larder_device *, larder_stream,
                                       larder_sim_kernel *, void *);
larder_result __wrap_larder_sim_wait_event(larder_device *, larder_stream,
                                           uint64_t);
larder_result __wrap_larder_sim_capture_begin(larder_device *, larder_stream);
larder_result __wrap_larder_sim_capture_end(larder_device *, larder_stream);
larder_result __wrap_larder_sim_regions(larder_device *, larder_addr *,
                                        larder_addr *);
larder_result __wrap_larder_sim_get_usage(larder_device *, larder_sim_usage *);

/* ---- skipped tests --------------------------------------------------------- */

/* Skips a test that is about simulated GPUs only. */
__attribute__((constructor)) static void skip_read(void)
{
    const char *pattern = getenv("LARDER_TEST_SKIP");

    if (pattern != NULL)
        cmocka_set_skip_filter(pattern);
}

/* ---- the stand-in ---------------------------------------------------------- */

static const struct fakecuda_control *control;
static const char *driver; /* NULL: tests run on the simulated GPU itself */

static void control_find(void)
{
    void *library;
    void *symbol;
    fakecuda_control_fn *fn;

    driver = getenv("LARDER_TEST_DRIVER");
    if (driver == NULL)
        return;
    library =
        dlopen(strcmp(driver, "hip") == 0 ? "libamdhip64.so.6" : "libcuda.so.1",
               RTLD_NOW | RTLD_LOCAL);
    symbol = library == NULL ? NULL : dlsym(library, FAKECUDA_CONTROL);
    if (symbol == NULL) {
        fprintf(stderr, "the stand-in for %s cannot be loaded\n", driver);
        exit(EXIT_FAILURE);
    }
    memcpy(&fn, &symbol, sizeof fn);
    control = fn();
}

static const struct fakecuda_control *fake(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, control_find);
    return control;
}

/* ---- device numbers --------------------------------------------------------- */

enum { DEVICES = 64 };

static larder_device *devices[DEVICES]; /* by the stand-in's number */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* -1: it does not belong to the stand-in. */
static int number_of(const larder_device *dev)
{
    int i = 0;

    if (fake() == NULL || dev == NULL)
        return -1;
    pthread_mutex_lock(&lock);
    while (i < DEVICES && devices[i] != dev)
        i++;
    pthread_mutex_unlock(&lock);
    return i < DEVICES ? i : -1;
}

static void number_set(int number, larder_device *dev)
{
    pthread_mutex_lock(&lock);
    devices[number] = dev;
    pthread_mutex_unlock(&lock);
}

/* Copies the stand-in's error message to this copy of the library. */
static larder_result said(larder_result r)
{
    return r == LARDER_OK ? r : larder__fail(r, "%s", control->last_error());
}

/* ---- opening and closing ---------------------------------------------------- */

/* Prices belong to the device layer here, not to the one inside the
 * stand-in. */
static larder_result take_prices(const char *spec, larder_device *dev)
{
    const char *costs = strstr(spec, "costs=");
    char path[4096];
    larder_prices prices;
    larder_result r;

    if (costs == NULL)
        return LARDER_OK;
    snprintf(path, sizeof path, "%.*s", (int)strcspn(costs + 6, ","),
             costs + 6);
    larder_prices_init(&prices);
    r = larder_prices_read(path, &prices);
    return r == LARDER_OK ? larder_device_set_prices(dev, &prices) : r;
}

static larder_result open_on(int number, const char *spec, larder_device **out)
{
    char name[32];
    larder_device *dev;
    larder_result r;

    snprintf(name, sizeof name, "%s:%d%s", driver, number,
             strstr(spec, "export=fd") != NULL ? ",export=fd" : "");
    r = __real_larder_device_open(name, 0, &dev);
    if (r != LARDER_OK)
        return r;
    r = take_prices(spec, dev);
    if (r != LARDER_OK) {
        __real_larder_device_close(dev);
        return r;
    }
    number_set(number, dev);
    *out = dev;
    return LARDER_OK;
}

larder_result __wrap_larder_device_open(const char *spec, int ordinal,
                                        larder_device **out)
{
    int number;
    larder_result r;

    if (spec == NULL || out == NULL || strncmp(spec, "sim:", 4) != 0 ||
        fake() == NULL)
        return __real_larder_device_open(spec, ordinal, out);
    r = said(fake()->add(spec, ordinal, &number));
    if (r != LARDER_OK)
        return r;
    r = open_on(number, spec, out);
    if (r != LARDER_OK)
        fake()->remove(number);
    return r;
}

larder_result __wrap_larder_device_close(larder_device *dev)
{
    int number = number_of(dev);
    larder_result r;

    if (number >= 0)
        number_set(number, NULL);
    r = __real_larder_device_close(dev);
    if (number >= 0 && r == LARDER_OK)
        fake()->remove(number);
    else if (number >= 0)
        number_set(number, dev);
    return r;
}

/* ---- control ---------------------------------------------------------------- */

larder_result __wrap_larder_sim_complete(larder_device *dev,
                                         larder_stream stream)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_complete(dev, stream);
    return said(fake()->complete(fake()->device(number), stream));
}

larder_result __wrap_larder_sim_launch(larder_device *dev, larder_stream stream,
                                       larder_sim_kernel *fn, void *ctx)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_launch(dev, stream, fn, ctx);
    return said(fake()->launch(fake()->device(number), stream, fn, ctx));
}

larder_result __wrap_larder_sim_wait_event(larder_device *dev,
                                           larder_stream stream, uint64_t event)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_wait_event(dev, stream, event);
    return said(fake()->wait_event(number, stream, event));
}

larder_result __wrap_larder_sim_capture_begin(larder_device *dev,
                                              larder_stream stream)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_capture_begin(dev, stream);
    return said(fake()->capture_begin(fake()->device(number), stream));
}

larder_result __wrap_larder_sim_capture_end(larder_device *dev,
                                            larder_stream stream)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_capture_end(dev, stream);
    return said(fake()->capture_end(fake()->device(number), stream));
}

larder_result __wrap_larder_sim_regions(larder_device *dev, larder_addr *first,
                                        larder_addr *second)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_regions(dev, first, second);
    return said(fake()->regions(fake()->device(number), first, second));
}

larder_result __wrap_larder_sim_get_usage(larder_device *dev,
                                          larder_sim_usage *out)
{
    int number = number_of(dev);

    if (number < 0)
        return __real_larder_sim_get_usage(dev, out);
    return said(fake()->get_usage(fake()->device(number), out));
}
