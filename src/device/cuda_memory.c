/* cuda_memory.c - device memory, virtual memory, host memory. */
#include "device/cuda_device.h"

/* ---- driver allocations -------------------------------------------------- */

CUDA_OP_MADE(mem_alloc, CUDA_RELAXED, cud_addr,
             (void *self, uint64_t bytes, larder_addr *out), &made, bytes)
CUDA_OP(mem_free, CUDA_RELEASE, (void *self, larder_addr addr), addr)

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    size_t free_size = 0;
    size_t total_size = 0;
    larder_result r = CUDA_CALL(c, &s, mem_info, &free_size, &total_size);

    if (r != LARDER_OK)
        return r;
    *free_bytes = free_size;
    *total_bytes = total_size;
    return LARDER_OK;
}

/* ---- virtual memory ------------------------------------------------------ */

CUDA_OP_MADE(address_reserve, CUDA_RELAXED, cud_addr,
             (void *self, uint64_t bytes, larder_addr *out), &made, bytes, 0, 0,
             0)
CUDA_OP(address_free, CUDA_RELAXED_RELEASE,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes)
CUDA_OP_MADE(page_create, CUDA_RELAXED, cud_page,
             (void *self, uint64_t bytes, uint64_t *out), &made, bytes,
             &c->page_prop, 0)
CUDA_OP(page_release, CUDA_RELAXED_RELEASE, (void *self, uint64_t page), page)
CUDA_OP(map, CUDA_RELAXED,
        (void *self, larder_addr addr, uint64_t bytes, uint64_t page), addr,
        bytes, 0, page, 0)
CUDA_OP(unmap, CUDA_RELAXED_RELEASE,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes)
CUDA_OP(set_access, CUDA_RELAXED,
        (void *self, larder_addr addr, uint64_t bytes), addr, bytes, c->access,
        c->access_count)

/* ---- between processes --------------------------------------------------- */

_Static_assert((int)CUD_HANDLE_FD == (int)LARDER_HANDLE_FD,
               "the driver's number of it");

static larder_result op_page_export(void *self, uint64_t page,
                                    larder_page_handle *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    larder_page_handle made = {.kind = c->props.export_kind, .fd = -1};
    void *handle =
        made.kind == LARDER_HANDLE_FD ? (void *)&made.fd : (void *)made.fabric;
    larder_result r =
        CUDA_CALL(c, &s, page_export, handle, page, c->handle_type, 0);

    if (r == LARDER_OK)
        *out = made;
    return r;
}

/* The driver knows the page's size, and fails to map any other. */
static larder_result op_page_import(void *self,
                                    const larder_page_handle *handle,
                                    uint64_t bytes, uint64_t *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    larder_page_handle copy = *handle;
    bool is_fd = handle->kind == LARDER_HANDLE_FD;
    void *given = is_fd ? (void *)(intptr_t)copy.fd : (void *)copy.fabric;
    cud_page page = 0;
    larder_result r = CUDA_CALL(c, &s, page_import, &page, given,
                                is_fd ? CUD_HANDLE_FD : CUD_HANDLE_FABRIC);

    (void)bytes;
    if (r == LARDER_OK)
        *out = page;
    return r;
}

/* ---- host memory --------------------------------------------------------- */

static larder_result op_host_alloc(void *self, uint64_t bytes, void **out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true,
                           .no_memory = LARDER_ERR_NO_HOST_MEMORY};
    void *ptr = NULL;
    larder_result r =
        CUDA_CALL(c, &s, host_alloc, &ptr, bytes, CUD_HOST_PORTABLE);

    if (r == LARDER_OK)
        *out = ptr;
    return r;
}

CUDA_OP(host_free, CUDA_RELEASE, (void *self, void *ptr), ptr)

/* ---- the table ----------------------------------------------------------- */

void larder__cuda_memory_ops(larder_device_ops *ops)
{
    ops->mem_alloc = op_mem_alloc;
    ops->mem_free = op_mem_free;
    ops->mem_info = op_mem_info;
    ops->host_alloc = op_host_alloc;
    ops->host_free = op_host_free;
}

void larder__cuda_virtual_ops(larder_device_ops *ops)
{
    ops->address_reserve = op_address_reserve;
    ops->address_free = op_address_free;
    ops->page_create = op_page_create;
    ops->page_release = op_page_release;
    ops->map = op_map;
    ops->unmap = op_unmap;
    ops->set_access = op_set_access;
}

void larder__cuda_share_ops(larder_device_ops *ops)
{
    ops->page_export = op_page_export;
    ops->page_import = op_page_import;
}
