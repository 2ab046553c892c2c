/* kept.c - host memory with the contents of pages while they are released. */
#include "core/pause/kept.h"

#include "base/host.h"
#include "core/segments/events.h"

enum { HOST_ALIGN = 4096 };

/* Copies to pinned memory are faster, but it may be scarce. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes)
{
    void *host = NULL;

    larder__assert(k->host == NULL && bytes > 0);
    k->is_pinned =
        larder_device_host_alloc(a->device, bytes, &host) == LARDER_OK;
    if (!k->is_pinned)
        host = larder__host_alloc_aligned(HOST_ALIGN, bytes);
    k->host = host;
    k->bytes = host != NULL ? bytes : 0;
    return host != NULL;
}

/* If the usual wait fails the copy may still be running: another way of waiting
 * is tried, but not relied on. */
larder_result larder__kept_wait(struct allocator *a, struct kept *k,
                                larder_stream stream)
{
    larder_result r = larder__events_pass(a, stream);

    if (r != LARDER_OK) {
        k->is_in_flight = true;
        (void)larder__device_stream_sync(a->device, stream);
    }
    return r;
}

bool larder__kept_free(struct allocator *a, struct kept *k)
{
    if (k->is_in_flight)
        return false;
    if (!k->is_pinned)
        larder__host_free(k->host);
    else if (larder_device_host_free(a->device, k->host) != LARDER_OK)
        return false;
    *k = (struct kept){0};
    return true;
}
