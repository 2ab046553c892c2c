/* adapter.c - devices and their allocators, created on demand. */
#include "adapter.h"

#include <stdlib.h>
#include <string.h>

void larder_adapter_options_init_sized(larder_adapter_options *opt, size_t size)
{
    if (opt == NULL || size < sizeof opt->size)
        return;
    memset(opt, 0, size);
    opt->size = size;
}

/* An older caller's struct is shorter. */
static void adapter_options_read(larder_adapter_options *to,
                                 const larder_adapter_options *from)
{
    size_t size = from == NULL ? 0 : from->size;

    memset(to, 0, sizeof *to);
    if (size != 0)
        memcpy(to, from, size < sizeof *to ? size : sizeof *to);
    if (to->device == NULL)
        to->device = "cuda:0";
}

static larder_result adapter_fill(larder_adapter *ad,
                                  const larder_adapter_options *opt)
{
    larder_device *dev;

    ad->policy = opt->policy;
    ad->spec = strdup(opt->device);
    if (ad->spec == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    if (opt->conf != NULL) {
        ad->conf = strdup(opt->conf);
        if (ad->conf == NULL)
            return LARDER_ERR_NO_HOST_MEMORY;
        if (larder_conf_check(ad->conf) != LARDER_OK)
            return LARDER_ERR_CONF;
    }
    return larder__adapter_device(ad, 0, &dev);
}

larder_result larder_adapter_open(const larder_adapter_options *opt,
                                  larder_adapter **out)
{
    larder_adapter_options o;
    larder_adapter *ad;
    larder_result r;

    if (out == NULL)
        return LARDER_ERR_INVALID;
    adapter_options_read(&o, opt);
    ad = calloc(1, sizeof *ad);
    if (ad == NULL)
        return LARDER_ERR_NO_HOST_MEMORY;
    if (pthread_mutex_init(&ad->lock, NULL) != 0) {
        free(ad);
        return LARDER_ERR_SYSTEM;
    }
    r = adapter_fill(ad, &o);
    if (r == LARDER_OK)
        *out = ad;
    else
        (void)larder_adapter_close(ad);
    return r;
}

larder_result larder_adapter_close(larder_adapter *ad)
{
    larder_result first = LARDER_OK;

    if (ad == NULL)
        return LARDER_OK;
    for (int i = 0; i < ADAPTER_DEVICES; i++) {
        larder_result r =
            larder_destroy(atomic_load(&ad->devices[i].allocator));

        if (first == LARDER_OK)
            first = r;
        r = larder_device_close(ad->devices[i].device);
        if (first == LARDER_OK)
            first = r;
    }
    pthread_mutex_destroy(&ad->lock);
    free(ad->spec);
    free(ad->conf);
    free(ad);
    return first;
}

larder_result larder__adapter_device(larder_adapter *ad, int number,
                                     larder_device **out)
{
    larder_result r = LARDER_OK;

    if (ad->devices[number].device == NULL)
        r = larder_device_open(ad->spec, number, &ad->devices[number].device);
    if (r == LARDER_OK)
        *out = ad->devices[number].device;
    return r;
}

larder_result larder__adapter_make(larder_adapter *ad, larder_device *dev,
                                   larder_allocator **out)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = ad->policy;
    opt.conf = ad->conf;
    return larder_create(dev, &opt, out);
}

static larder_result allocator_make(larder_adapter *ad, int number,
                                    larder_allocator **out)
{
    larder_device *dev;
    larder_result r;

    pthread_mutex_lock(&ad->lock);
    r = larder__adapter_device(ad, number, &dev);
    *out = atomic_load(&ad->devices[number].allocator);
    if (r == LARDER_OK && *out == NULL) {
        r = larder__adapter_make(ad, dev, out);
        if (r == LARDER_OK)
            atomic_store_explicit(&ad->devices[number].allocator, *out,
                                  memory_order_release);
    }
    pthread_mutex_unlock(&ad->lock);
    return r;
}

larder_result larder_adapter_allocator(larder_adapter *ad, int device,
                                       larder_allocator **out)
{
    larder_allocator *a;
    larder_result r = LARDER_OK;

    if (ad == NULL || out == NULL || device < 0 || device >= ADAPTER_DEVICES)
        return LARDER_ERR_INVALID;
    a = atomic_load_explicit(&ad->devices[device].allocator,
                             memory_order_acquire);
    if (a == NULL)
        r = allocator_make(ad, device, &a);
    if (r == LARDER_OK)
        *out = a;
    return r;
}
