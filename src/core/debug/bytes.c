/* bytes.c - reads and writes the device's bytes, through its own table of
 * functions. */
#include "core/debug/debug.h"

#include <stdatomic.h>
#include <string.h>

#include "base/host.h"
#include "core/pools/private.h"
#include "core/segments/events.h"

struct bytes_buffer {
    struct bytes_buffer *next; /* in the list of buffers left behind */
    unsigned char at[BYTES_READ_MAX];
};

/* A copy that could not be waited for may still write to its buffer, so the
 * buffer is never freed.  The list keeps it reachable for leak checkers. */
static _Atomic(struct bytes_buffer *) left_behind;

static void leave_behind(struct debug *d)
{
    struct bytes_buffer *b = d->buffer;

    b->next = atomic_load(&left_behind);
    while (!atomic_compare_exchange_weak(&left_behind, &b->next, b))
        ;
    d->buffer = NULL;
}

bool larder__bytes_may(struct allocator *a, larder_stream stream)
{
    return !larder__private_may_be_graphs(a, stream);
}

larder_result larder__bytes_fill(struct allocator *a, struct bytes_range range,
                                 unsigned char value, larder_stream stream)
{
    if (range.bytes == 0)
        return LARDER_OK;
    return larder_device_fill(a->device, range.addr, value, range.bytes,
                              stream);
}

static bool buffer_ensure(struct debug *d)
{
    if (d->buffer == NULL)
        d->buffer = larder__host_alloc(1, sizeof *d->buffer);
    return d->buffer != NULL;
}

/* Queue the copies on the stream.  Returns how many were queued. */
static size_t copies_queue(struct allocator *a,
                           const struct bytes_range *ranges, size_t count,
                           larder_stream stream)
{
    unsigned char *to = a->debug->buffer->at;
    size_t done = 0;

    while (done < count &&
           larder_device_copy(a->device, (uint64_t)(uintptr_t)to,
                              ranges[done].addr, ranges[done].bytes,
                              LARDER_COPY_TO_HOST, stream) == LARDER_OK)
        to += ranges[done++].bytes;
    return done;
}

/* A capture elsewhere may forbid waiting for a while.  Test this before the
 * next copy, so that no second buffer is left behind. */
static bool may_wait(struct allocator *a, larder_stream stream)
{
    struct debug *d = a->debug;

    if (d->is_wary)
        d->is_wary = larder__events_pass(a, stream) != LARDER_OK;
    return !d->is_wary;
}

/* The copies could not be waited for. */
static void give_up(struct debug *d, larder_result why)
{
    leave_behind(d);
    d->is_wary = why == LARDER_ERR_CAPTURING;
    d->is_blind = !d->is_wary;
}

/* Waits for an event, not for the stream: a simulated stream whose steps the
 * program runs then advances only as far as the event. */
const unsigned char *larder__bytes_read(struct allocator *a,
                                        const struct bytes_range *ranges,
                                        size_t count, larder_stream stream)
{
    struct debug *d = a->debug;
    larder_result r = LARDER_OK;
    size_t queued;

    if (d->is_blind || !buffer_ensure(d) || !may_wait(a, stream))
        return NULL;
    queued = copies_queue(a, ranges, count, stream);
    if (queued > 0)
        r = larder__events_pass(a, stream);
    if (r != LARDER_OK) {
        give_up(d, r);
        return NULL;
    }
    return queued == count ? d->buffer->at : NULL;
}

uint64_t larder__bytes_differ(const unsigned char *at, uint64_t bytes,
                              unsigned char value)
{
    if (bytes == 0 || (at[0] == value && memcmp(at, at + 1, bytes - 1) == 0))
        return bytes;
    for (uint64_t i = 0; i < bytes; i++) {
        if (at[i] != value)
            return i;
    }
    return bytes;
}

void larder__bytes_end(struct debug *d)
{
    larder__host_free(d->buffer);
    d->buffer = NULL;
}
