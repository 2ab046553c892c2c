/* torch_devices.c - devices and allocators by PyTorch's device numbers.
 *
 * One lock guards the settings and the creation of allocators; those that exist
 * are read without it. */
#include "torch_devices.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torch_failure.h"
#include "torch_fork.h"
#include "torch_moving.h"
#include "torch_stacks.h"

enum { SETTING_MAX = 4000, SPEC_MAX = 256 };

#define DEVICE_VARIABLE "LARDER_TORCH_DEVICE"

struct settings {
    bool has_device;
    bool has_conf;
    larder_policy policy;
    char device[SPEC_MAX];
    char conf[SETTING_MAX + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings settings;
static char own_specs[LARDER_TORCH_DEVICES][SPEC_MAX];
static struct torch_device devices[LARDER_TORCH_DEVICES];

/* ---- settings ------------------------------------------------------------------ */

static larder_result torch_devices_fail(larder_result r, const char *words)
{
    larder__torch_remember_words("%s", words);
    return r;
}

static bool text_set(char *out, size_t capacity, const char *text)
{
    if (strlen(text) >= capacity)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool any_is_made(void)
{
    for (int i = 0; i < LARDER_TORCH_DEVICES; i++) {
        if (atomic_load(&devices[i].allocator) != NULL)
            return true;
    }
    return false;
}

/* The lock is held. */
static larder_result configure(const char *device, larder_policy policy,
                               const char *conf)
{
    struct settings made = {.policy = policy};

    if (any_is_made())
        return torch_devices_fail(LARDER_ERR_BUSY,
                                  "settings must precede the first allocation");
    made.has_device = device != NULL;
    made.has_conf = conf != NULL;
    if ((device != NULL &&
         !text_set(made.device, sizeof made.device, device)) ||
        (conf != NULL && !text_set(made.conf, sizeof made.conf, conf)))
        return torch_devices_fail(
            LARDER_ERR_INVALID,
            "a setting is too long: expected up to 4000 characters, "
            "of a device 255");
    settings = made;
    return LARDER_OK;
}

larder_result larder_torch_configure(const char *device, larder_policy policy,
                                     const char *conf)
{
    larder_result r = LARDER_OK;

    if (strcmp(larder_policy_name(policy), "?") == 0)
        return torch_devices_fail(LARDER_ERR_INVALID,
                                  "there is no such policy");
    if (conf != NULL)
        r = larder__torch_noted(larder_conf_check(conf));
    if (r != LARDER_OK)
        return r;
    pthread_mutex_lock(&lock);
    r = configure(device, policy, conf);
    pthread_mutex_unlock(&lock);
    return r;
}

static bool is_number(int number)
{
    if (number >= 0 && number < LARDER_TORCH_DEVICES)
        return true;
    larder__torch_remember_words("device %d: expected a number from 0 to %d",
                                 number, LARDER_TORCH_DEVICES - 1);
    return false;
}

larder_result larder_torch_set_device(int number, const char *spec)
{
    larder_result r = LARDER_OK;

    if (!is_number(number) || spec == NULL)
        return LARDER_ERR_INVALID;
    pthread_mutex_lock(&lock);
    if (atomic_load(&devices[number].allocator) != NULL)
        r = torch_devices_fail(LARDER_ERR_BUSY, "the device is in use already");
    else if (!text_set(own_specs[number], SPEC_MAX, spec))
        r = torch_devices_fail(LARDER_ERR_INVALID,
                               "a device of more than 255 characters");
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- creating ------------------------------------------------------------------ */

static larder_result open_device(int number, larder_device **out)
{
    const char *spec = secure_getenv(DEVICE_VARIABLE);
    int ordinal = number;

    if (own_specs[number][0] != '\0') {
        spec = own_specs[number];
        ordinal = 0;
    } else if (settings.has_device) {
        spec = settings.device;
    } else if (spec == NULL || *spec == '\0') {
        spec = "cuda:0";
    }
    return larder_device_open(spec, ordinal, out);
}

/* The lock is held. */
static larder_result torch_devices_make(int number)
{
    struct torch_device *d = &devices[number];
    larder_allocator *a;
    larder_options opt;
    larder_result r;

    if (atomic_load(&d->allocator) != NULL)
        return LARDER_OK;
    r = open_device(number, &d->device);
    if (r != LARDER_OK)
        return r;
    larder_options_init(&opt);
    opt.policy = settings.policy;
    opt.conf = settings.has_conf ? settings.conf : NULL;
    r = larder_create(d->device, &opt, &a);
    if (r == LARDER_OK && (r = larder__torch_guard(a)) != LARDER_OK)
        (void)larder_destroy(a);
    if (r != LARDER_OK) {
        (void)larder_device_close(d->device);
        return r;
    }
    atomic_store_explicit(&d->allocator, a, memory_order_release);
    return LARDER_OK;
}

/* torch_devices_make(), remembering its error. */
static larder_result ensure(int number)
{
    larder_result r = LARDER_OK;
    bool is_watched;

    pthread_mutex_lock(&lock);
    is_watched = larder__torch_fork_watch();
    if (is_watched)
        r = torch_devices_make(number);
    pthread_mutex_unlock(&lock);
    if (!is_watched)
        return torch_devices_fail(LARDER_ERR_NO_HOST_MEMORY,
                                  "no host memory for the fork handler");
    return larder__torch_noted(r);
}

larder_result larder__torch_device_get(int number, struct torch_device **out)
{
    larder_result r = LARDER_OK;

    if (!is_number(number))
        return LARDER_ERR_INVALID;
    if (larder__torch_is_forked())
        return torch_devices_fail(
            LARDER_ERR_DEVICE,
            "this process was forked from one that uses the GPU, and cannot "
            "use its memory: use the start method 'spawn'");
    if (atomic_load_explicit(&devices[number].allocator,
                             memory_order_acquire) == NULL)
        r = ensure(number);
    if (r == LARDER_OK)
        *out = &devices[number];
    return r;
}

int larder__torch_device_each(torch_device_fn *fn, void *ctx)
{
    int stop = 0;

    if (larder__torch_is_forked())
        return 0;
    for (int i = 0; stop == 0 && i < LARDER_TORCH_DEVICES; i++) {
        if (atomic_load_explicit(&devices[i].allocator, memory_order_acquire) !=
            NULL)
            stop = fn(ctx, &devices[i]);
    }
    return stop;
}

/* ---- queries ------------------------------------------------------------------- */

larder_result larder_torch_allocator(int number, larder_allocator **out)
{
    struct torch_device *d;
    larder_result r;

    if (out == NULL)
        return LARDER_ERR_INVALID;
    r = larder__torch_device_get(number, &d);
    if (r == LARDER_OK)
        *out = atomic_load(&d->allocator);
    return r;
}

larder_result larder_torch_device(int number, larder_device **out)
{
    struct torch_device *d;
    larder_result r;

    if (out == NULL)
        return LARDER_ERR_INVALID;
    r = larder__torch_device_get(number, &d);
    if (r == LARDER_OK)
        *out = d->device;
    return r;
}

int larder_torch_is_made(int number)
{
    return number >= 0 && number < LARDER_TORCH_DEVICES &&
           !larder__torch_is_forked() &&
           atomic_load(&devices[number].allocator) != NULL;
}

/* ---- ending -------------------------------------------------------------------- */

static int close_device(void *ctx, struct torch_device *d)
{
    larder_result *first = ctx;
    larder_result r = larder_destroy(atomic_load(&d->allocator));

    if (*first == LARDER_OK)
        *first = r;
    r = larder_device_close(d->device);
    if (*first == LARDER_OK)
        *first = r;
    larder__torch_pools_clear(&d->pools);
    atomic_store(&d->allocator, NULL);
    return 0;
}

larder_result larder_torch_close(void)
{
    larder_result r = LARDER_OK;

    pthread_mutex_lock(&lock);
    larder__torch_device_each(close_device, &r);
    settings = (struct settings){0};
    memset(own_specs, 0, sizeof own_specs);
    pthread_mutex_unlock(&lock);
    larder__torch_stacks_clear();
    larder__torch_forget();
    return r;
}
