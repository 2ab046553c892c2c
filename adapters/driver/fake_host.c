/* fake_host.c - page-locked host memory, allocated here or registered, and the
 * owner of an address. */
#include "driver/fake_state.h"

#include <stdlib.h>
#include <string.h>

struct host_piece {
    struct host_piece *next;
    char *ptr;
    size_t bytes;
    const struct fake_device *device; /* NULL: registered, not allocated here */
};

static struct host_piece *pieces;

static struct host_piece **piece_at(const void *ptr)
{
    struct host_piece **at = &pieces;

    while (*at != NULL && (*at)->ptr != ptr)
        at = &(*at)->next;
    return at;
}

/* The piece that contains the address. */
static const struct host_piece *piece_around(cud_addr addr)
{
    const struct host_piece *p = pieces;

    while (p != NULL &&
           (addr < (uintptr_t)p->ptr || addr - (uintptr_t)p->ptr >= p->bytes))
        p = p->next;
    return p;
}

bool fake_is_locked(cud_addr addr, size_t bytes)
{
    const struct host_piece *p = piece_around(addr);

    return fake_is_managed(addr, bytes) ||
           (p != NULL && bytes <= p->bytes - (addr - (uintptr_t)p->ptr));
}

static cud_result piece_keep(void *ptr, size_t bytes,
                             const struct fake_device *device)
{
    struct host_piece *p = calloc(1, sizeof *p);

    if (p == NULL)
        return CUD_OUT_OF_MEMORY;
    *p = (struct host_piece){
        .next = pieces, .ptr = ptr, .bytes = bytes, .device = device};
    pieces = p;
    return CUD_SUCCESS;
}

/* ---- making and registering --------------------------------------------- */

cud_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    void *ptr = NULL;

    if (answer != CUD_SUCCESS)
        return answer;
    if (flags > 7)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "there are no flags 0x%x", flags));
    answer = fake_capture_guard(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    if (bytes > SIZE_MAX / 2 || posix_memalign(&ptr, 4096, bytes) != 0)
        return fake_end(CUD_OUT_OF_MEMORY);
    answer = piece_keep(ptr, bytes, d);
    if (answer == CUD_SUCCESS)
        *out = ptr;
    else
        free(ptr);
    return fake_end(answer);
}

cud_result cuMemAllocHost_v2(void **out, size_t bytes)
{
    return cuMemHostAlloc(out, bytes, 0);
}

static void piece_remove(struct host_piece **at)
{
    struct host_piece *gone = *at;

    *at = gone->next;
    if (gone->device != NULL)
        free(gone->ptr);
    free(gone);
}

/* Queued copies may use the memory that is freed. */
static larder_result wait_for_devices(void)
{
    larder_result r = LARDER_OK;

    for (int i = 0; i < FAKE_DEVICES && r == LARDER_OK; i++) {
        struct fake_device *d = fake_device_get(i);

        if (d != NULL)
            r = fake_complete_all(d);
    }
    return r;
}

void fake_host_forget(const struct fake_device *d)
{
    struct host_piece **at = &pieces;

    (void)wait_for_devices();
    while (*at != NULL) {
        if ((*at)->device == d)
            piece_remove(at);
        else
            at = &(*at)->next;
    }
}

static cud_result piece_drop(const char *symbol, const void *ptr,
                             bool is_theirs, const char *wrong)
{
    cud_result answer = fake_begin_bare(symbol);
    struct host_piece **at;
    struct host_piece *gone;

    if (answer != CUD_SUCCESS)
        return answer;
    at = piece_at(ptr);
    gone = *at;
    if (gone == NULL || (gone->device == NULL) != is_theirs)
        return fake_end(fake_broken(symbol, CUD_INVALID_VALUE, "%s", wrong));
    if (!is_theirs && wait_for_devices() != LARDER_OK)
        return fake_end(fake_broken(symbol, CUD_UNKNOWN,
                                    "queued work cannot be waited for"));
    piece_remove(at);
    return fake_end(CUD_SUCCESS);
}

cud_result cuMemFreeHost(void *ptr)
{
    return piece_drop(__func__, ptr, false, "not memory of cuMemHostAlloc()");
}

cud_result cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags)
{
    enum { ALREADY = 712 };
    cud_result answer = fake_begin_bare(__func__);

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    if (ptr == NULL || bytes == 0 || !fake_is_on_host((uintptr_t)ptr, bytes))
        answer =
            fake_broken(__func__, CUD_INVALID_VALUE, "this is not host memory");
    else if (piece_around((uintptr_t)ptr) != NULL)
        answer = ALREADY;
    else
        answer = piece_keep(ptr, bytes, NULL);
    return fake_end(answer);
}

cud_result cuMemHostUnregister(void *ptr)
{
    return piece_drop(__func__, ptr, true, "not memory of cuMemHostRegister()");
}

cud_result cuMemHostGetDevicePointer_v2(cud_addr *out, void *ptr,
                                        unsigned flags)
{
    cud_result answer = fake_begin_bare(__func__);

    (void)flags;
    if (answer != CUD_SUCCESS)
        return answer;
    if (piece_around((uintptr_t)ptr) == NULL)
        return fake_end(CUD_INVALID_VALUE);
    *out = (uintptr_t)ptr;
    return fake_end(CUD_SUCCESS);
}

cud_result cuMemHostGetFlags(unsigned *out, void *ptr)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    if (piece_around((uintptr_t)ptr) == NULL)
        return fake_end(CUD_INVALID_VALUE);
    *out = 0;
    return fake_end(CUD_SUCCESS);
}

/* ---- owner of an address ------------------------------------------------ */

static bool is_owner(const struct fake_device *d, cud_addr addr)
{
    return d != NULL && larder__sim_is_accessible(d->sim, addr, 1);
}

struct fake_device *fake_owner_of(cud_addr addr)
{
    struct fake_device *d = fake_current();

    if (is_owner(d, addr))
        return d;
    for (int i = 0; i < FAKE_DEVICES; i++) {
        d = fake_device_get(i);
        if (is_owner(d, addr))
            return d;
    }
    return NULL;
}

static bool is_within(cud_addr addr, size_t bytes, larder_addr begin,
                      uint64_t length)
{
    return addr < begin + length && (addr >= begin || bytes > begin - addr);
}

/* The addresses of simulated memory are separate from the host's.  Those
 * without memory behind them are only numbers. */
static bool is_device_s(const struct sim *sim, cud_addr addr, size_t bytes)
{
    const struct sim_backing *b = &sim->backing;
    uint64_t length = b->is_real ? b->region_bytes : UINT64_C(1) << 40;

    return is_within(addr, bytes, b->first, length) ||
           is_within(addr, bytes, b->first + b->region_bytes, length);
}

bool fake_is_on_host(cud_addr addr, size_t bytes)
{
    if (fake_is_managed(addr, bytes))
        return true;
    for (int i = 0; i < FAKE_DEVICES; i++) {
        const struct fake_device *d = fake_device_get(i);

        if (d != NULL && is_device_s(d->sim, addr, bytes))
            return false;
    }
    return true;
}

/* CUpointer_attribute. */
enum {
    POINTER_CONTEXT = 1,
    POINTER_KIND = 2,
    POINTER_ON_DEVICE = 3,
    POINTER_ON_HOST = 4,
    POINTER_BUFFER = 7,
    POINTER_IS_MANAGED = 8,
    POINTER_DEVICE = 9,
    POINTER_RANGE_START = 11,
    POINTER_RANGE_SIZE = 12,
    POINTER_POOL = 17,
    POINTER_MAPPING_SIZE = 18,
    POINTER_MAPPING_START = 19,
    POINTER_BLOCK = 20
};

enum { KIND_HOST = 1, KIND_DEVICE = 2 };

static cud_result allocation_attribute(void *out, int which, cud_addr addr)
{
    struct sim_ipc found;
    size_t bytes;

    if (!fake_allocation_find(addr, &found))
        return CUD_NOT_SUPPORTED;
    bytes = found.bytes;
    if (which == POINTER_RANGE_START)
        memcpy(out, &found.addr, sizeof found.addr);
    else
        memcpy(out, &bytes, sizeof bytes);
    return CUD_SUCCESS;
}

static cud_result pointer_attribute(void *out, int which, cud_addr addr,
                                    struct fake_device *d)
{
    int number = d == NULL ? 0 : fake_number(d);
    cud_context context = d == NULL ? NULL : &d->primary;
    int is_managed = fake_is_managed(addr, 1);
    unsigned kind = d == NULL && !is_managed ? KIND_HOST : KIND_DEVICE;

    switch (which) {
    case POINTER_CONTEXT:
        memcpy(out, &context, sizeof context);
        return CUD_SUCCESS;
    case POINTER_KIND:
        memcpy(out, &kind, sizeof kind);
        return CUD_SUCCESS;
    case POINTER_ON_DEVICE:
        memcpy(out, &addr, sizeof addr);
        return CUD_SUCCESS;
    case POINTER_ON_HOST:
        memcpy(out, &addr, sizeof addr);
        return d == NULL || is_managed ? CUD_SUCCESS : CUD_INVALID_VALUE;
    case POINTER_IS_MANAGED:
        memcpy(out, &is_managed, sizeof is_managed);
        return CUD_SUCCESS;
    case POINTER_DEVICE:
        memcpy(out, &number, sizeof number);
        return CUD_SUCCESS;
    case POINTER_RANGE_START:
    case POINTER_RANGE_SIZE:
        return allocation_attribute(out, which, addr);
    default:
        return CUD_NOT_SUPPORTED;
    }
}

/* The size of a value: a pointer, a size or a 64-bit number, otherwise an int,
 * the minimum for any attribute. */
static size_t attribute_bytes(int which)
{
    switch (which) {
    case POINTER_CONTEXT:
    case POINTER_ON_DEVICE:
    case POINTER_ON_HOST:
    case POINTER_BUFFER:
    case POINTER_RANGE_START:
    case POINTER_RANGE_SIZE:
    case POINTER_POOL:
    case POINTER_MAPPING_SIZE:
    case POINTER_MAPPING_START:
    case POINTER_BLOCK:
        return sizeof(cud_addr);
    default:
        return sizeof(int);
    }
}

cud_result cuPointerGetAttribute(void *out, int which, cud_addr addr)
{
    cud_result answer = fake_begin_bare(__func__);
    struct fake_device *d;

    if (answer != CUD_SUCCESS)
        return answer;
    d = fake_owner_of(addr);
    if (d == NULL && !fake_is_locked(addr, 1))
        return fake_end(CUD_INVALID_VALUE);
    return fake_end(pointer_attribute(out, which, addr, d));
}

/* Zeros for an unknown address or attribute. */
static cud_result attribute_or_none(void *out, int which, cud_addr addr)
{
    enum { INVALID_DEVICE = -2 };
    cud_result answer = cuPointerGetAttribute(out, which, addr);

    if (answer != CUD_INVALID_VALUE && answer != CUD_NOT_SUPPORTED)
        return answer;
    memset(out, 0, attribute_bytes(which));
    if (which == POINTER_DEVICE)
        memcpy(out, &(int){INVALID_DEVICE}, sizeof(int));
    return CUD_SUCCESS;
}

cud_result cuPointerGetAttributes(unsigned count, int *which, void **out,
                                  cud_addr addr)
{
    cud_result answer = CUD_SUCCESS;

    for (unsigned i = 0; i < count && answer == CUD_SUCCESS; i++)
        answer = attribute_or_none(out[i], which[i], addr);
    return answer;
}

/* ---- calls on the host, in a stream's order ----------------------------- */

/* Whether the stream is captured: then the function becomes part of the graph,
 * which runs nothing. */
static cud_result captured_note(const char *symbol, cud_stream stream,
                                bool *is_captured)
{
    struct fake_device *d;
    larder_stream number;
    cud_result answer = fake_begin_stream(symbol, stream, &d, &number);

    if (answer != CUD_SUCCESS)
        return answer;
    *is_captured = fake_is_captured(d, number);
    if (*is_captured)
        answer = fake_work_note(symbol, d, number, FAKE_LAUNCH_NS);
    return fake_end(answer);
}

/* Runs the stream's queued work first; the function may call the driver. */
cud_result cuLaunchHostFunc(cud_stream stream, void (*fn)(void *), void *data)
{
    bool is_captured = false;
    cud_result answer = captured_note(__func__, stream, &is_captured);

    if (answer != CUD_SUCCESS || is_captured)
        return answer;
    answer = cuStreamSynchronize(stream);
    if (answer == CUD_SUCCESS)
        fn(data);
    return answer;
}

cud_result cuStreamAddCallback(cud_stream stream,
                               void (*fn)(cud_stream, cud_result, void *),
                               void *data, unsigned flags)
{
    cud_result answer = cuStreamSynchronize(stream);

    (void)flags;
    if (answer == CUD_SUCCESS)
        fn(stream, answer, data);
    return answer;
}
