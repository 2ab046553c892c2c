/* unrecorded.c - finds uses of memory on streams that were not recorded, where
 * the device knows what is queued. */
#include "core/debug/debug.h"

#include <inttypes.h>

#include "base/host.h"
#include "core/segments/order.h"
#include "core/state/zone.h"

/* The block's stream and those recorded for it.  NULL: no host memory. */
static larder_stream *streams_of(const struct block *b, size_t *count)
{
    larder_stream *streams;
    size_t n = 1;

    for (const struct use *use = b->uses; use != NULL; use = use->next)
        n++;
    streams = larder__host_alloc(n, sizeof *streams);
    if (streams == NULL)
        return NULL;
    n = 0;
    streams[n++] = block_stream(b);
    for (const struct use *use = b->uses; use != NULL; use = use->next) {
        if (!use->is_hold)
            streams[n++] = use->stream;
    }
    *count = n;
    return streams;
}

/* During a capture nothing is checked: the graph orders the work. */
void larder__unrecorded_check(struct allocator *a, const struct block *b)
{
    larder_stream *streams;
    larder_stream user;
    size_t count;

    if (!larder__bytes_may(a, block_stream(b)) ||
        (streams = streams_of(b, &count)) == NULL)
        return;
    if (larder__device_unordered_use(a->device, zone_user(b), b->requested,
                                     streams, count,
                                     &user) == LARDER_ERR_NOT_READY)
        larder__finding_note(
            a, b, LARDER_ERR_UNRECORDED,
            "stream %" PRIu64 " still uses the allocation at 0x%" PRIx64
            " of %" PRIu64 " bytes on stream %" PRIu64
            ", which is freed: it was not recorded "
            "(larder_record_stream()), and no recorded stream waits for it",
            user, zone_user(b), b->requested, streams[0]);
    larder__host_free(streams);
}
