/* share_message.h - the message that describes shared memory to another
 * process.  Private to core.
 *
 *   header | batch, handles | batch, handles | ...
 *
 * Structs are sent as they are: both ends are on one machine.  A batch says how
 * many pages each of its handles has.  Descriptors are sent along with the bytes
 * of their batch; fabric handles follow them.  Nothing received is used before
 * it was checked here. */
#pragma once

#include <larder/device.h>

enum {
    SHARE_VERSION = 2,
    SHARE_BATCH_MAX = 64 /* handles; the kernel takes up to 253 descriptors */
};

#define SHARE_HEADER_MAGIC UINT64_C(0x314853726472616c)
#define SHARE_BATCH_MAGIC UINT32_C(0x48434142)

struct share_header {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;                         /* larder_handle_kind */
    unsigned char uuid[LARDER_UUID_BYTES]; /* of the device */
    uint64_t bytes;                        /* of the allocation */
    uint64_t offset;                       /* of the allocation in the pages */
    uint64_t page_bytes;
    uint64_t page_count; /* of all handles */
};

/* Consecutive handles. */
struct share_batch {
    uint32_t magic;
    uint32_t count;
    uint64_t first;                  /* first page of the first handle */
    uint32_t pages[SHARE_BATCH_MAX]; /* of each; 0 beyond `count` */
};

/* ERR_INVALID says which field does not fit a device with these properties. */
larder_result larder__share_header_check(const struct share_header *h,
                                         const larder_device_props *props);

/* ERR_INVALID unless the batch begins with page `first` and has at most `left`
 * pages. */
larder_result larder__share_batch_check(const struct share_batch *b,
                                        uint64_t first, uint64_t left);

/* ---- sending and receiving (share_socket.c) ------------------------------ */

/* Send all bytes; the descriptors go with the first byte. */
larder_result larder__socket_send(int socket, const void *bytes, size_t count,
                                  const int *fds, size_t fd_count);

/* Receive exactly `count` bytes and up to `capacity` descriptors.  They are
 * closed on exec, and the caller closes them.  On failure none is left open. */
larder_result larder__socket_receive(int socket, void *bytes, size_t count,
                                     int *fds, size_t capacity,
                                     size_t *fd_count);

/* Close them all; errors are ignored. */
void larder__fds_close(const int *fds, size_t count);
