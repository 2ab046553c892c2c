/* share_message.h - the form in which memory is told of to another process.
 * Private to core.
 *
 *   header | batch, handles | batch, handles | ...
 *
 * Numbers are little-endian.  A batch says how many pages each of its handles
 * has.  Descriptors travel beside the bytes of their batch, fabric handles
 * follow them.  What was received is not believed
 * before it was checked here. */
#ifndef LARDER_CORE_SHARE_MESSAGE_H
#define LARDER_CORE_SHARE_MESSAGE_H

#include <stdint.h>

#include <larder/device.h>

enum {
    SHARE_VERSION = 2,
    SHARE_HEADER_BYTES = 64,
    SHARE_BATCH_MAX = 64, /* handles; the kernel takes up to 253 descriptors */
    SHARE_BATCH_BYTES = 16 + 4 * SHARE_BATCH_MAX
};

struct share_header {
    larder_handle_kind kind;
    unsigned char uuid[LARDER_UUID_BYTES]; /* of the device */
    uint64_t bytes;                        /* of the allocation */
    uint64_t offset;                       /* of it in the pages */
    uint64_t page_bytes;
    uint64_t page_count; /* of all handles together */
};

/* Handles that follow one another. */
struct share_batch {
    uint64_t first; /* page of the first */
    uint32_t count;
    uint32_t pages[SHARE_BATCH_MAX]; /* of each */
};

void larder__share_header_write(const struct share_header *h,
                                unsigned char out[SHARE_HEADER_BYTES]);

/* ERR_INVALID says what is not as a device with these properties needs it. */
larder_result larder__share_header_read(
    const unsigned char in[SHARE_HEADER_BYTES],
    const larder_device_props *props, struct share_header *out);

void larder__share_batch_write(const struct share_batch *b,
                               unsigned char out[SHARE_BATCH_BYTES]);

/* ERR_INVALID unless it begins with page `first`, and has no more than the
 * `left` pages that are to come. */
larder_result larder__share_batch_read(
    const unsigned char in[SHARE_BATCH_BYTES], uint64_t first, uint64_t left,
    struct share_batch *out);

#endif
