/* share_import.c - maps memory of another process. */
#include <string.h>

#include <larder/share.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "core/share/share_message.h"
#include "core/state/allocator.h"
#include "device/device.h"

struct larder_import {
    larder_device *device;
    struct share_header header;
    larder_addr base;      /* first address; 0: none reserved */
    size_t mapped;         /* how many handles are mapped, from the first */
    uint64_t mapped_pages; /* their pages */
    size_t imported;       /* how many are imported, from the first */
    uint64_t imported_pages;
    struct page_handle handles[]; /* room for one handle a page */
};

static uint64_t bytes_of(const larder_import *m, uint64_t pages)
{
    return pages * m->header.page_bytes;
}

/* ---- releasing ---------------------------------------------------------- */

/* Undo the steps in reverse order; what the device fails to undo can be tried
 * again. */
static larder_result import_undo(larder_import *m)
{
    larder_result r = LARDER_OK;

    larder__assert(m->mapped <= m->imported);
    larder__assert(m->mapped_pages == 0 || m->base != 0);
    if (m->mapped > 0)
        r = larder__device_unmap(m->device, m->base,
                                 bytes_of(m, m->mapped_pages), m->mapped);
    if (r != LARDER_OK)
        return r;
    m->mapped = 0;
    m->mapped_pages = 0;
    while (m->imported > 0) {
        r = larder__device_page_release(m->device,
                                        m->handles[m->imported - 1].handle);
        if (r != LARDER_OK)
            return r;
        m->imported--;
    }
    if (m->base != 0)
        r = larder__device_address_free(m->device, m->base,
                                        bytes_of(m, m->header.page_count));
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
    r = larder__device_check(m->device);
    if (r == LARDER_OK)
        r = import_undo(m);
    if (r == LARDER_OK)
        import_free(m);
    return r;
}

/* ---- receiving ------------------------------------------------------------ */

static larder_result handle_import(larder_import *m,
                                   const larder_page_handle *handle,
                                   uint32_t pages)
{
    struct page_handle *p = &m->handles[m->imported];
    larder_result r = larder__device_page_import(
        m->device, handle, bytes_of(m, pages), &p->handle);

    if (r != LARDER_OK)
        return r;
    p->pages = pages;
    m->imported++;
    m->imported_pages += pages;
    larder__assert(m->imported_pages <= m->header.page_count);
    larder__assert(m->imported <= m->imported_pages);
    return LARDER_OK;
}

static larder_result fds_import(larder_import *m, const int *fds,
                                const struct share_batch *batch)
{
    larder_result r = LARDER_OK;

    for (uint32_t i = 0; i < batch->count && r == LARDER_OK; i++) {
        larder_page_handle handle = {.kind = LARDER_HANDLE_FD, .fd = fds[i]};

        r = handle_import(m, &handle, batch->pages[i]);
    }
    return r;
}

static larder_result fabric_import(larder_import *m, int socket,
                                   const struct share_batch *batch)
{
    unsigned char bytes[SHARE_BATCH_MAX * LARDER_FABRIC_BYTES];
    size_t none;
    larder_result r = larder__socket_receive(
        socket, bytes, (size_t)batch->count * LARDER_FABRIC_BYTES, NULL, 0,
        &none);

    for (uint32_t i = 0; i < batch->count && r == LARDER_OK; i++) {
        larder_page_handle handle = {.kind = LARDER_HANDLE_FABRIC, .fd = -1};

        memcpy(handle.fabric, bytes + (size_t)i * LARDER_FABRIC_BYTES,
               LARDER_FABRIC_BYTES);
        r = handle_import(m, &handle, batch->pages[i]);
    }
    return r;
}

static larder_result batch_import(larder_import *m, int socket)
{
    bool is_fd = m->header.kind == LARDER_HANDLE_FD;
    int fds[SHARE_BATCH_MAX];
    size_t fd_count = 0;
    size_t expected;
    struct share_batch batch;
    larder_result r = larder__socket_receive(socket, &batch, sizeof batch, fds,
                                             SHARE_BATCH_MAX, &fd_count);

    if (r != LARDER_OK)
        return r;
    r = larder__share_batch_check(&batch, m->imported_pages,
                                  m->header.page_count - m->imported_pages);
    expected = is_fd ? batch.count : 0;
    if (r == LARDER_OK && fd_count != expected)
        r = larder__fail(LARDER_ERR_INVALID,
                         "the message came with %zu descriptors: expected %zu",
                         fd_count, expected);
    if (r == LARDER_OK)
        r = is_fd ? fds_import(m, fds, &batch)
                  : fabric_import(m, socket, &batch);
    larder__fds_close(fds, fd_count);
    return r;
}

static larder_result import_map(larder_import *m)
{
    uint64_t bytes = bytes_of(m, m->header.page_count);
    larder_result r =
        larder__device_address_reserve(m->device, bytes, &m->base);

    while (r == LARDER_OK && m->mapped < m->imported) {
        const struct page_handle *p = &m->handles[m->mapped];

        r = larder__device_map(m->device,
                               m->base + bytes_of(m, m->mapped_pages),
                               bytes_of(m, p->pages), p->handle);
        if (r != LARDER_OK)
            break;
        m->mapped++;
        m->mapped_pages += p->pages;
        larder__assert(m->mapped_pages <= m->imported_pages);
    }
    return r == LARDER_OK ? larder__device_set_access(m->device, m->base, bytes)
                          : r;
}

/* Receive the header, and check it against the device. */
static larder_result header_receive(larder_device *dev, int socket,
                                    struct share_header *out)
{
    larder_device_props props = {.size = sizeof props};
    size_t none;
    larder_result r = larder_device_get_props(dev, &props);

    if (r == LARDER_OK)
        r = larder__socket_receive(socket, out, sizeof *out, NULL, 0, &none);
    return r == LARDER_OK ? larder__share_header_check(out, &props) : r;
}

/* Undo a failed import, with one retry.  After that nobody is left to try
 * again, and what the device did not release is leaked. */
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

    r = larder__device_check(dev);
    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (!larder__device_can_import(dev))
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "device '%s' cannot import memory",
                            larder_device_name(dev));
    r = header_receive(dev, socket, &header);
    if (r != LARDER_OK)
        return r;
    m = larder__host_alloc(1, sizeof *m +
                                  header.page_count * sizeof m->handles[0]);
    if (m == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    m->device = dev;
    m->header = header;
    larder__device_hold(dev);
    while (r == LARDER_OK && m->imported_pages < header.page_count)
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

/* ---- queries -------------------------------------------------------------- */

larder_result larder_import_get(const larder_import *m, larder_import_info *out)
{
    larder_import_info info;
    larder_result r;

    if (m == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if (out->size < sizeof out->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_import_info: set its size before the call");
    r = larder__device_check(m->device);
    if (r != LARDER_OK)
        return r;
    info = (larder_import_info){
        .addr = m->base + m->header.offset,
        .bytes = m->header.bytes,
        .mapped_bytes = bytes_of(m, m->mapped_pages),
    };
    return sized_write(out, &info, sizeof info);
}
