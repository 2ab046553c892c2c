/* cuda_memory.c - device memory, virtual memory, host memory. */
#include "device/cuda_device.h"

/* ---- driver allocations -------------------------------------------------- */

static larder_result op_mem_alloc(void *self, uint64_t bytes, larder_addr *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    cud_addr addr = 0;
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.mem_alloc(&addr, bytes);
    r = larder__cuda_leave(c, &s, answer);
    if (r == LARDER_OK)
        *out = addr;
    return r;
}

static larder_result op_mem_free(void *self, larder_addr addr)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_release = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.mem_free(addr);
    return larder__cuda_leave(c, &s, answer);
}

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    size_t free_size = 0;
    size_t total_size = 0;
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.mem_info(&free_size, &total_size);
    r = larder__cuda_leave(c, &s, answer);
    if (r != LARDER_OK)
        return r;
    *free_bytes = free_size;
    *total_bytes = total_size;
    return LARDER_OK;
}

/* ---- virtual memory ------------------------------------------------------ */

static larder_result op_address_reserve(void *self, uint64_t bytes,
                                        larder_addr *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    cud_addr addr = 0;
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.address_reserve(&addr, bytes, 0, 0, 0);
    r = larder__cuda_leave(c, &s, answer);
    if (r == LARDER_OK)
        *out = addr;
    return r;
}

static larder_result op_address_free(void *self, larder_addr addr,
                                     uint64_t bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_release = true, .is_relaxed = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.address_free(addr, bytes);
    return larder__cuda_leave(c, &s, answer);
}

static larder_result op_page_create(void *self, uint64_t bytes, uint64_t *out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    cud_page_prop prop = {
        .type = CUD_PAGE_PINNED,
        .requestedHandleTypes = c->handle_type,
        .location = {.type = CUD_ON_DEVICE, .id = c->device},
    };
    cud_page page = 0;
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.page_create(&page, bytes, &prop, 0);
    r = larder__cuda_leave(c, &s, answer);
    if (r == LARDER_OK)
        *out = page;
    return r;
}

static larder_result op_page_release(void *self, uint64_t page)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_release = true, .is_relaxed = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.page_release(page);
    return larder__cuda_leave(c, &s, answer);
}

static larder_result op_map(void *self, larder_addr addr, uint64_t bytes,
                            uint64_t page)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.map(addr, bytes, 0, page, 0);
    return larder__cuda_leave(c, &s, answer);
}

static larder_result op_unmap(void *self, larder_addr addr, uint64_t bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_release = true, .is_relaxed = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.unmap(addr, bytes);
    return larder__cuda_leave(c, &s, answer);
}

static larder_result op_set_access(void *self, larder_addr addr, uint64_t bytes)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.set_access(addr, bytes, c->access, c->access_count);
    return larder__cuda_leave(c, &s, answer);
}

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
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.page_export(handle, page, c->handle_type, 0);
    r = larder__cuda_leave(c, &s, answer);
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
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    (void)bytes;
    if (answer == CUD_SUCCESS)
        answer = c->call.page_import(&page, given,
                                     is_fd ? CUD_HANDLE_FD : CUD_HANDLE_FABRIC);
    r = larder__cuda_leave(c, &s, answer);
    if (r == LARDER_OK)
        *out = page;
    return r;
}

void larder__cuda_share_ops(larder_device_ops *ops)
{
    ops->page_export = op_page_export;
    ops->page_import = op_page_import;
}

/* ---- host memory --------------------------------------------------------- */

static larder_result op_host_alloc(void *self, uint64_t bytes, void **out)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_relaxed = true,
                           .no_memory = LARDER_ERR_NO_HOST_MEMORY};
    void *ptr = NULL;
    cud_result answer = larder__cuda_enter(c, &s);
    larder_result r;

    if (answer == CUD_SUCCESS)
        answer = c->call.host_alloc(&ptr, bytes, CUD_HOST_PORTABLE);
    r = larder__cuda_leave(c, &s, answer);
    if (r == LARDER_OK)
        *out = ptr;
    return r;
}

static larder_result op_host_free(void *self, void *ptr)
{
    struct cuda *c = self;
    struct cuda_scope s = {.is_release = true};
    cud_result answer = larder__cuda_enter(c, &s);

    if (answer == CUD_SUCCESS)
        answer = c->call.host_free(ptr);
    return larder__cuda_leave(c, &s, answer);
}

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
