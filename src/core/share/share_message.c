/* share_message.c - the message that describes shared memory to another
 * process. */
#include "core/share/share_message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/fail.h"

static bool is_unknown(const unsigned char *uuid)
{
    static const unsigned char zero[LARDER_UUID_BYTES];

    return memcmp(uuid, zero, sizeof zero) == 0;
}

/* A device without an identity is assumed to be the right one. */
static larder_result uuid_check(const unsigned char *theirs,
                                const unsigned char *ours)
{
    if (is_unknown(theirs) || is_unknown(ours) ||
        memcmp(theirs, ours, LARDER_UUID_BYTES) == 0)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_INVALID,
                        "the memory is on another device: its identity begins "
                        "with %02x%02x%02x%02x, that of this one with "
                        "%02x%02x%02x%02x",
                        theirs[0], theirs[1], theirs[2], theirs[3], ours[0],
                        ours[1], ours[2], ours[3]);
}

/* After these checks no sum or product of the numbers overflows. */
static larder_result sizes_check(const struct share_header *h,
                                 const larder_device_props *props)
{
    uint64_t granularity = props->granularity_bytes;
    uint64_t pages_max;

    if (h->page_bytes == 0 || granularity == 0 ||
        h->page_bytes % granularity != 0 || h->page_bytes > props->total_bytes)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has pages of %" PRIu64
                            " bytes: expected a multiple of %" PRIu64
                            " up to %" PRIu64,
                            h->page_bytes, granularity, props->total_bytes);
    pages_max = props->total_bytes / h->page_bytes;
    if (h->page_count == 0 || h->page_count > pages_max)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has %" PRIu64
                            " pages: expected 1 to %" PRIu64,
                            h->page_count, pages_max);
    if (h->offset >= h->page_count * h->page_bytes || h->bytes == 0 ||
        h->bytes > h->page_count * h->page_bytes - h->offset)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has an allocation of %" PRIu64
                            " bytes at offset %" PRIu64 " of %" PRIu64
                            " pages of %" PRIu64 " bytes: it does not fit",
                            h->bytes, h->offset, h->page_count, h->page_bytes);
    return LARDER_OK;
}

larder_result larder__share_header_check(const struct share_header *h,
                                         const larder_device_props *props)
{
    larder_result r;

    if (h->magic != SHARE_HEADER_MAGIC)
        return larder__fail(LARDER_ERR_INVALID,
                            "this is not a message of larder_export_send()");
    if (h->version != SHARE_VERSION)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has version %" PRIu32
                            ": expected version %d",
                            h->version, SHARE_VERSION);
    if (h->kind != LARDER_HANDLE_FD && h->kind != LARDER_HANDLE_FABRIC)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has handles of kind %d: expected %d "
                            "or %d",
                            (int)h->kind, (int)LARDER_HANDLE_FD,
                            (int)LARDER_HANDLE_FABRIC);
    r = uuid_check(h->uuid, props->uuid);
    return r == LARDER_OK ? sizes_check(h, props) : r;
}

/* ---- batches -------------------------------------------------------------- */

/* Each handle has at least one page, and all together no more than are
 * missing. */
static larder_result pages_check(const struct share_batch *b, uint64_t left)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->pages[i] == 0 || b->pages[i] > left)
            return larder__fail(LARDER_ERR_INVALID,
                                "the message has a handle of %" PRIu32
                                " pages where %" PRIu64 " are missing: "
                                "expected at least 1 and no more than those",
                                b->pages[i], left);
        left -= b->pages[i];
    }
    return LARDER_OK;
}

larder_result larder__share_batch_check(const struct share_batch *b,
                                        uint64_t first, uint64_t left)
{
    if (b->magic != SHARE_BATCH_MAGIC)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message ends early: expected handles of the "
                            "pages from %" PRIu64 " on",
                            first);
    if (b->first != first || b->count == 0 || b->count > SHARE_BATCH_MAX ||
        b->count > left)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has %" PRIu32
                            " handles of the pages from %" PRIu64
                            " on: expected 1 to %d, from %" PRIu64
                            " on, where %" PRIu64 " are missing",
                            b->count, b->first, SHARE_BATCH_MAX, first, left);
    return pages_check(b, left);
}
