/* fake_ipc.c - memory and events of other processes, by handles that are bytes.
 *
 * Opened memory is only mapped: it is charged to the process that allocated
 * it.  An event of another process has always completed: work is done when it
 * is queued, and the process recorded the event before it sent the handle. */
#include "driver/fake_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/sim_process.h"

_Static_assert(sizeof(cud_ipc_handle) == SIM_IPC_BYTES, "they are the same");

/* ---- memory ------------------------------------------------------------- */

struct opened {
    struct opened *next;
    cud_ipc_handle handle;
    int device;
    unsigned uses;
    struct sim_ipc at;
};

static struct opened *opened;

static bool is_within(const struct sim_ipc *at, cud_addr addr)
{
    return addr >= at->addr && addr - at->addr < at->bytes;
}

bool fake_ipc_find(cud_addr addr, struct sim_ipc *out)
{
    const struct opened *o = opened;

    while (o != NULL && !is_within(&o->at, addr))
        o = o->next;
    if (o != NULL)
        *out = o->at;
    return o != NULL;
}

static larder_result unmap(struct fake_device *d, const struct opened *o)
{
    larder_result r = larder__sim_enter(d->sim);

    return r == LARDER_OK ? larder__sim_leave(
                                d->sim, larder__sim_ipc_close(d->sim, &o->at))
                          : r;
}

static void opened_remove(struct opened **at)
{
    struct opened *gone = *at;

    *at = gone->next;
    free(gone);
}

void fake_ipc_forget(struct fake_device *d)
{
    struct opened **at = &opened;

    while (*at != NULL) {
        if ((*at)->device == fake_number(d)) {
            (void)unmap(d, *at);
            opened_remove(at);
        } else {
            at = &(*at)->next;
        }
    }
}

/* Managed memory, pool memory and mapped pages have no handle. */
static bool has_handle(const struct fake_device *d, cud_addr addr)
{
    const struct sim_range *range =
        d == NULL ? NULL : larder__sim_mem_find(d->sim, addr);

    return range != NULL && !fake_pool_owns(range->addr) &&
           !fake_is_managed(addr, 1);
}

/* The handle is that of the whole allocation, wherever in it the address is. */
cud_result cuIpcGetMemHandle(void *out, cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct fake_device *of;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    of = fake_owner_of(addr);
    if (!has_handle(of, addr))
        return fake_end(CUD_INVALID_VALUE);
    r = larder__sim_enter(of->sim);
    if (r == LARDER_OK)
        r = larder__sim_leave(of->sim,
                              larder__sim_ipc_export(of->sim, addr, out));
    return fake_end_sim(__func__, of, r);
}

static struct opened *opened_by(const cud_ipc_handle *handle, int device)
{
    struct opened *o = opened;

    while (o != NULL && (o->device != device ||
                         memcmp(&o->handle, handle, sizeof *handle) != 0))
        o = o->next;
    return o;
}

static cud_result check_handle(const char *symbol, const cud_ipc_handle *handle,
                               unsigned flags)
{
    enum { LAZY_PEERS = 1 };
    bool is_own;

    if (flags > LAZY_PEERS)
        return fake_broken(symbol, CUD_INVALID_VALUE, "there are no flags 0x%x",
                           flags);
    if (!larder__sim_ipc_is_handle(handle, &is_own))
        return fake_broken(symbol, CUD_INVALID_VALUE,
                           "not a handle of cuIpcGetMemHandle()");
    if (is_own)
        return fake_broken(symbol, CUD_INVALID_CONTEXT,
                           "the memory belongs to this process");
    return CUD_SUCCESS;
}

static larder_result open_new(const struct fake_device *d,
                              const cud_ipc_handle *handle, struct opened *o)
{
    larder_result r = larder__sim_enter(d->sim);

    if (r != LARDER_OK)
        return r;
    r = larder__sim_leave(d->sim, larder__sim_ipc_open(d->sim, handle, &o->at));
    if (r != LARDER_OK)
        return r;
    o->handle = *handle;
    o->device = fake_number(d);
    o->next = opened;
    opened = o;
    return LARDER_OK;
}

/* On the device of the thread's context.  Memory that is already open there
 * gets the same address, and must be closed as often as it was opened. */
cud_result cuIpcOpenMemHandle_v2(cud_addr *out, cud_ipc_handle handle,
                                 unsigned flags)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    larder_result r = LARDER_OK;
    struct opened *o;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_handle(__func__, &handle, flags);
    if (answer == CUD_SUCCESS)
        answer = fake_capture_guard(__func__, d);
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    o = opened_by(&handle, fake_number(d));
    if (o == NULL) {
        o = calloc(1, sizeof *o);
        r = o == NULL ? LARDER_ERR_NO_HOST_MEMORY : open_new(d, &handle, o);
    }
    if (r != LARDER_OK) {
        free(o);
        return fake_end_sim(__func__, d, r);
    }
    o->uses++;
    *out = o->at.addr;
    return fake_end(CUD_SUCCESS);
}

static struct opened **opened_at(cud_addr addr)
{
    struct opened **at = &opened;

    while (*at != NULL && (*at)->at.addr != addr)
        at = &(*at)->next;
    return at;
}

cud_result cuIpcCloseMemHandle(cud_addr addr)
{
    struct fake_device *d;
    cud_result answer = fake_begin(__func__, &d);
    struct opened **at;
    struct opened *o;
    larder_result r;

    if (answer != CUD_SUCCESS)
        return answer;
    at = opened_at(addr);
    o = *at;
    if (o == NULL)
        return fake_end(fake_broken(__func__, CUD_INVALID_VALUE,
                                    "no opened memory begins at 0x%llx", addr));
    if (o->uses > 1) {
        o->uses--;
        return fake_end(CUD_SUCCESS);
    }
    d = fake_device_get(o->device);
    r = unmap(d, o);
    if (r == LARDER_OK)
        opened_remove(at);
    return fake_end_sim(__func__, d, r);
}

/* ---- events ------------------------------------------------------------- */

struct event_bytes {
    uint64_t magic;
    int64_t pid;
    uint64_t start; /* of the process */
    uint64_t event;
};

static const uint64_t event_magic = UINT64_C(0x3165636970726472);

cud_result cuIpcGetEventHandle(void *out, cud_event event)
{
    cud_result answer = fake_begin_bare(__func__);
    struct event_bytes h = {.magic = event_magic, .pid = getpid()};
    struct fake_device *d;
    uint64_t inner;

    if (answer != CUD_SUCCESS)
        return answer;
    answer = fake_event_find(__func__, event, &d, &inner);
    if (answer == CUD_SUCCESS &&
        !(fake_event_flags(d, inner) & CUD_EVENT_INTERPROCESS))
        answer = fake_broken(__func__, CUD_INVALID_HANDLE,
                             "the event was not created for other processes");
    if (answer != CUD_SUCCESS)
        return fake_end(answer);
    h.start = larder__sim_process_start(getpid());
    h.event = (uintptr_t)event;
    memset(out, 0, sizeof(cud_ipc_handle));
    memcpy(out, &h, sizeof h);
    return fake_end(CUD_SUCCESS);
}

static cud_result check_event(const char *symbol, const cud_ipc_handle *handle)
{
    struct event_bytes h;

    memcpy(&h, handle, sizeof h);
    if (h.magic != event_magic || h.pid <= 0)
        return fake_broken(symbol, CUD_INVALID_VALUE,
                           "not a handle of cuIpcGetEventHandle()");
    if (h.pid == getpid() && h.start == larder__sim_process_start(getpid()))
        return fake_broken(symbol, CUD_INVALID_CONTEXT,
                           "the event belongs to this process");
    if (!larder__sim_process_lives((pid_t)h.pid, h.start))
        return fake_broken(symbol, CUD_INVALID_VALUE,
                           "process %lld, which owned the event, has ended",
                           (long long)h.pid);
    return CUD_SUCCESS;
}

cud_result cuIpcOpenEventHandle(cud_event *out, cud_ipc_handle handle)
{
    cud_result answer = fake_begin_bare(__func__);

    if (answer != CUD_SUCCESS)
        return answer;
    answer = check_event(__func__, &handle);
    fake_unlock();
    return answer != CUD_SUCCESS ? answer
                                 : cuEventCreate(out, CUD_EVENT_INTERPROCESS |
                                                          CUD_EVENT_NO_TIMING);
}
