/* share_import.c - memory of another process, mapped here. */
#include <string.h>

#include <larder/share.h>

#include "base/fail.h"
#include "base/host.h"
#include "core/share_message.h"
#include "core/share_socket.h"
#include "device/device.h"

struct larder_import {
    larder_device *device;
    struct share_header header;
    larder_addr base;  /* of the addresses; 0: none */
    uint64_t mapped;   /* of the pages, the first so many */
    uint64_t imported; /* the same */
    uint64_t pages[];  /* 0: released */
};

static uint64_t mapped_bytes(const larder_import *m)
{
    return m->mapped * m->header.page_bytes;
}

/* ---- giving back ---------------------------------------------------------- */

/* In order, so that what the device refuses can be tried again. */
static larder_result import_undo(larder_import *m)
{
    uint64_t bytes = m->header.page_count * m->header.page_bytes;
    larder_result r = LARDER_OK;

    if (m->mapped > 0)
        r = larder__device_unmap(m->device, m->base, mapped_bytes(m),
                                 m->mapped);
    if (r != LARDER_OK)
        return r;
    m->mapped = 0;
    while (m->imported > 0) {
        r = larder__device_page_release(m->device, m->pages[m->imported - 1]);
        if (r != LARDER_OK)
            return r;
        m->imported--;
    }
    if (m->base != 0)
        r = larder__device_address_free(m->device, m->base, bytes);
    if (r == LARDER_OK)
        m->base = 0;
    return r;
}

static void import_free(larder_import *m)
{
    larder__device_drop(m->device);
    larder__host_free(m);
}

larder_result larder_import_close(larder_import *m)
{
    larder_result r;

    if (m == NULL)
        return LARDER_OK;
    r = import_undo(m);
    if (r == LARDER_OK)
        import_free(m);
    return r;
}

/* ---- receiving ------------------------------------------------------------ */

static larder_result handle_import(larder_import *m,
                                   const larder_page_handle *handle)
{
    larder_result r = larder__device_page_import(
        m->device, handle, m->header.page_bytes, &m->pages[m->imported]);

    if (r == LARDER_OK)
        m->imported++;
    return r;
}

static larder_result fds_import(larder_import *m, const int *fds,
                                uint32_t count)
{
    larder_result r = LARDER_OK;

    for (uint32_t i = 0; i < count && r == LARDER_OK; i++) {
        larder_page_handle handle = {.kind = LARDER_HANDLE_FD, .fd = fds[i]};

        r = handle_import(m, &handle);
    }
    return r;
}

static larder_result fabric_import(larder_import *m, int socket, uint32_t count)
{
    unsigned char bytes[SHARE_BATCH_MAX * LARDER_FABRIC_BYTES];
    size_t none;
    larder_result r = larder__socket_receive(
        socket, bytes, (size_t)count * LARDER_FABRIC_BYTES, NULL, 0, &none);

    for (uint32_t i = 0; i < count && r == LARDER_OK; i++) {
        larder_page_handle handle = {.kind = LARDER_HANDLE_FABRIC, .fd = -1};

        memcpy(handle.fabric, bytes + (size_t)i * LARDER_FABRIC_BYTES,
               LARDER_FABRIC_BYTES);
        r = handle_import(m, &handle);
    }
    return r;
}

static larder_result batch_import(larder_import *m, int socket)
{
    bool is_fd = m->header.kind == LARDER_HANDLE_FD;
    unsigned char bytes[SHARE_BATCH_BYTES];
    int fds[SHARE_BATCH_MAX];
    size_t fd_count = 0;
    uint32_t count = 0;
    larder_result r = larder__socket_receive(socket, bytes, sizeof bytes, fds,
                                             SHARE_BATCH_MAX, &fd_count);

    if (r != LARDER_OK)
        return r;
    r = larder__share_batch_read(bytes, m->imported,
                                 m->header.page_count - m->imported, &count);
    if (r == LARDER_OK && fd_count != (is_fd ? count : 0))
        r = larder__fail(LARDER_ERR_INVALID,
                         "the message came with %zu descriptors: expected %d",
                         fd_count, is_fd ? (int)count : 0);
    if (r == LARDER_OK)
        r = is_fd ? fds_import(m, fds, count) : fabric_import(m, socket, count);
    larder__fds_close(fds, fd_count);
    return r;
}

static larder_result import_map(larder_import *m)
{
    uint64_t bytes = m->header.page_count * m->header.page_bytes;
    larder_result r =
        larder__device_address_reserve(m->device, bytes, &m->base);

    while (r == LARDER_OK && m->mapped < m->header.page_count) {
        r = larder__device_map(m->device, m->base + mapped_bytes(m),
                               m->header.page_bytes, m->pages[m->mapped]);
        if (r == LARDER_OK)
            m->mapped++;
    }
    return r == LARDER_OK ? larder__device_set_access(m->device, m->base, bytes)
                          : r;
}

/* The header of what comes, checked against the device. */
static larder_result header_receive(larder_device *dev, int socket,
                                    struct share_header *out)
{
    larder_device_props props = {.size = sizeof props};
    unsigned char bytes[SHARE_HEADER_BYTES];
    size_t none;
    larder_result r = larder_device_get_props(dev, &props);

    if (r == LARDER_OK)
        r = larder__socket_receive(socket, bytes, sizeof bytes, NULL, 0, &none);
    return r == LARDER_OK ? larder__share_header_read(bytes, &props, out) : r;
}

/* A device that refuses twice to take back what it gave keeps it: no one is
 * left to try again. */
static void import_abandon(larder_import *m)
{
    char words[LARDER_FAIL_MAX];

    larder__copy_error(words, sizeof words);
    if (import_undo(m) != LARDER_OK)
        (void)import_undo(m);
    larder__set_error("%s", words);
    import_free(m);
}

larder_result larder_import_receive(larder_device *dev, int socket,
                                    larder_import **out)
{
    struct share_header header;
    larder_import *m;
    larder_result r;

    if (dev == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (!larder__device_can_import(dev))
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "device '%s' has no calls to import memory with",
                            larder_device_name(dev));
    r = header_receive(dev, socket, &header);
    if (r != LARDER_OK)
        return r;
    m = larder__host_alloc(1,
                           sizeof *m + header.page_count * sizeof m->pages[0]);
    if (m == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    m->device = dev;
    m->header = header;
    larder__device_hold(dev);
    while (r == LARDER_OK && m->imported < header.page_count)
        r = batch_import(m, socket);
    if (r == LARDER_OK)
        r = import_map(m);
    if (r != LARDER_OK) {
        import_abandon(m);
        return r;
    }
    *out = m;
    return LARDER_OK;
}

/* ---- looking -------------------------------------------------------------- */

larder_result larder_import_get(const larder_import *m, larder_import_info *out)
{
    larder_import_info info;
    size_t size;

    if (m == NULL || out == NULL || out->size < sizeof out->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_import_info: set its size before the call");
    size = out->size;
    info = (larder_import_info){
        .size = size,
        .addr = m->base + m->header.offset,
        .bytes = m->header.bytes,
        .mapped_bytes = mapped_bytes(m),
    };
    if (size > sizeof info)
        memset(out, 0, size);
    memcpy(out, &info, size < sizeof info ? size : sizeof info);
    return LARDER_OK;
}
