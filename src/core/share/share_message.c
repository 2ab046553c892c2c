/* share_message.c - the message that describes shared memory to another
 * process. */
#include "core/share/share_message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/fail.h"

static const uint64_t header_magic = UINT64_C(0x314853726472616c);
static const uint32_t batch_magic = UINT32_C(0x48434142);

/* Offsets of the header's fields. */
enum {
    AT_VERSION = 8,
    AT_KIND = 12,
    AT_UUID = 16,
    AT_BYTES = 32,
    AT_OFFSET = 40,
    AT_PAGE_BYTES = 48,
    AT_PAGE_COUNT = 56
};

/* ---- integers ------------------------------------------------------------- */

static void number_put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t number_get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* ---- the header ----------------------------------------------------------- */

void larder__share_header_write(const struct share_header *h,
                                unsigned char out[SHARE_HEADER_BYTES])
{
    number_put(out, header_magic, 8);
    number_put(out + AT_VERSION, SHARE_VERSION, 4);
    number_put(out + AT_KIND, (uint64_t)h->kind, 4);
    memcpy(out + AT_UUID, h->uuid, sizeof h->uuid);
    number_put(out + AT_BYTES, h->bytes, 8);
    number_put(out + AT_OFFSET, h->offset, 8);
    number_put(out + AT_PAGE_BYTES, h->page_bytes, 8);
    number_put(out + AT_PAGE_COUNT, h->page_count, 8);
}

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

larder_result larder__share_header_read(
    const unsigned char in[SHARE_HEADER_BYTES],
    const larder_device_props *props, struct share_header *out)
{
    struct share_header h = {
        .kind = (larder_handle_kind)number_get(in + AT_KIND, 4),
        .bytes = number_get(in + AT_BYTES, 8),
        .offset = number_get(in + AT_OFFSET, 8),
        .page_bytes = number_get(in + AT_PAGE_BYTES, 8),
        .page_count = number_get(in + AT_PAGE_COUNT, 8),
    };
    uint32_t version = (uint32_t)number_get(in + AT_VERSION, 4);
    larder_result r;

    memcpy(h.uuid, in + AT_UUID, sizeof h.uuid);
    if (number_get(in, 8) != header_magic)
        return larder__fail(LARDER_ERR_INVALID,
                            "this is not a message of larder_export_send()");
    if (version != SHARE_VERSION)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has version %" PRIu32
                            ": expected version %d",
                            version, SHARE_VERSION);
    if (h.kind != LARDER_HANDLE_FD && h.kind != LARDER_HANDLE_FABRIC)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has handles of kind %d: expected %d "
                            "or %d",
                            (int)h.kind, (int)LARDER_HANDLE_FD,
                            (int)LARDER_HANDLE_FABRIC);
    if ((r = uuid_check(h.uuid, props->uuid)) != LARDER_OK ||
        (r = sizes_check(&h, props)) != LARDER_OK)
        return r;
    *out = h;
    return LARDER_OK;
}

/* ---- batches -------------------------------------------------------------- */

enum { BATCH_AT_COUNT = 4, BATCH_AT_FIRST = 8, BATCH_AT_PAGES = 16 };

void larder__share_batch_write(const struct share_batch *b,
                               unsigned char out[SHARE_BATCH_BYTES])
{
    larder__assert(b->count > 0 && b->count <= SHARE_BATCH_MAX);
    memset(out, 0, SHARE_BATCH_BYTES);
    number_put(out, batch_magic, 4);
    number_put(out + BATCH_AT_COUNT, b->count, 4);
    number_put(out + BATCH_AT_FIRST, b->first, 8);
    for (uint32_t i = 0; i < b->count; i++)
        number_put(out + BATCH_AT_PAGES + 4 * i, b->pages[i], 4);
}

/* Each handle has at least one page, and all together no more than are
 * missing. */
static larder_result pages_read(const unsigned char *in, uint64_t left,
                                struct share_batch *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        out->pages[i] = (uint32_t)number_get(in + 4 * i, 4);
        if (out->pages[i] == 0 || out->pages[i] > left)
            return larder__fail(LARDER_ERR_INVALID,
                                "the message has a handle of %" PRIu32
                                " pages where %" PRIu64 " are missing: "
                                "expected at least 1 and no more than those",
                                out->pages[i], left);
        left -= out->pages[i];
    }
    return LARDER_OK;
}

larder_result larder__share_batch_read(
    const unsigned char in[SHARE_BATCH_BYTES], uint64_t first, uint64_t left,
    struct share_batch *out)
{
    struct share_batch b = {
        .first = number_get(in + BATCH_AT_FIRST, 8),
        .count = (uint32_t)number_get(in + BATCH_AT_COUNT, 4),
    };
    larder_result r;

    if (number_get(in, 4) != batch_magic)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message ends early: expected handles of the "
                            "pages from %" PRIu64 " on",
                            first);
    if (b.first != first || b.count == 0 || b.count > SHARE_BATCH_MAX ||
        b.count > left)
        return larder__fail(LARDER_ERR_INVALID,
                            "the message has %" PRIu32
                            " handles of the pages from %" PRIu64
                            " on: expected 1 to %d, from %" PRIu64
                            " on, where %" PRIu64 " are missing",
                            b.count, b.first, SHARE_BATCH_MAX, first, left);
    r = pages_read(in + BATCH_AT_PAGES, left, &b);
    if (r == LARDER_OK)
        *out = b;
    return r;
}
