/* share_message.h - the message that describes shared memory to another
 * process.  Private to core.
 *
 *   header | batch, handles | batch, handles | ...
 *
 * Numbers are little-endian.  A batch says how many pages each of its handles
 * has.  Descriptors are sent along with the bytes of their batch; fabric
 * handles follow them.  Nothing received is used before it was checked here. */
#ifndef LARDER_CORE_SHARE_SHARE_MESSAGE_H
#define LARDER_CORE_SHARE_SHARE_MESSAGE_H

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
    uint64_t offset;                       /* of the allocation in the pages */
    uint64_t page_bytes;
    uint64_t page_count; /* of all handles */
};

/* Consecutive handles. */
struct share_batch {
    uint64_t first; /* first page of the first handle */
    uint32_t count;
    uint32_t pages[SHARE_BATCH_MAX]; /* of each */
};

/* Write to a message, or read and check what a message has; nothing is sent or
 * received here. */
void larder__share_header_write(const struct share_header *h,
                                unsigned char out[SHARE_HEADER_BYTES]);

/* ERR_INVALID says which field does not fit a device with these properties. */
larder_result larder__share_header_read(
    const unsigned char in[SHARE_HEADER_BYTES],
    const larder_device_props *props, struct share_header *out);

void larder__share_batch_write(const struct share_batch *b,
                               unsigned char out[SHARE_BATCH_BYTES]);

/* ERR_INVALID unless the batch begins with page `first` and has at most `left`
 * pages. */
larder_result larder__share_batch_read(
    const unsigned char in[SHARE_BATCH_BYTES], uint64_t first, uint64_t left,
    struct share_batch *out);

#endif
