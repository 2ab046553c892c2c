/* kept.c - host memory with the contents of pages while they are released. */
#include "core/pause/pause.h"

#include "base/host.h"
#include "core/segments/events.h"

enum { HOST_ALIGN = 4096 };

/* Copies to pinned memory are faster, but it may be scarce. */
bool larder__kept_take(struct allocator *a, struct kept *k, uint64_t bytes)
{
    void *host = NULL;

    larder__assert(k->host == NULL && k->spare == NULL && bytes > 0);
    k->spare = larder__host_alloc(1, sizeof *k->spare);
    if (k->spare == NULL)
        return false;
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
        (void)larder_device_stream_sync(a->device, stream);
    }
    return r;
}

static bool kept_free_host(struct allocator *a, const struct kept *k)
{
    if (k->is_pinned)
        return larder_device_host_free(a->device, k->host) == LARDER_OK;
    larder__host_free(k->host);
    return true;
}

/* What is refused is not written to: it may be gone all the same. */
bool larder__kept_free(struct allocator *a, struct kept *k)
{
    const struct kept *next = k;

    if (k->is_in_flight)
        return false;
    for (struct kept *refused = NULL; next != NULL;) {
        struct kept one = *next;

        next = one.refused;
        if (kept_free_host(a, &one)) {
            larder__host_free(one.spare);
        } else {
            one.refused = refused;
            refused = one.spare;
            *refused = one;
        }
        *k = (struct kept){.refused = refused};
    }
    return k->refused == NULL;
}

void larder__kept_leave(struct allocator *a, struct kept *k)
{
    k->is_in_flight = false;
    (void)larder__kept_free(a, k);
    while (k->refused != NULL) {
        struct kept *next = k->refused->refused;

        larder__host_free(k->refused);
        k->refused = next;
    }
}
