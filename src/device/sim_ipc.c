/* sim_ipc.c - allocations of the simulated GPU in other processes.
 *
 * A handle says where in which process's memory file the allocation is.  While
 * that is allocated, the process that exported it has a lock on its bytes; each
 * process that opens it locks the granules it maps, in a description of its
 * own.  So the kernel knows both, even if processes die. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/host.h"
#include "device/sim_fail.h"
#include "device/sim_lend.h"
#include "device/sim_process.h"

struct ipc_bytes {
    uint64_t magic;
    int64_t pid;
    uint64_t start; /* of the process */
    int64_t file;   /* -1: there is no memory behind the addresses */
    uint64_t inode;
    uint64_t offset;
    uint64_t bytes;
};

_Static_assert(sizeof(struct ipc_bytes) <= SIM_IPC_BYTES, "a handle holds it");

static const uint64_t ipc_magic = UINT64_C(0x3163706972726472);

/* ---- export ------------------------------------------------------------- */

/* The description whose locks say what is allocated. */
static larder_result exported_open(struct sim *sim)
{
    int fd;

    if (sim->exported.fd >= 0)
        return LARDER_OK;
    fd = larder__lend_open_again("self", sim->backing.file.fd);
    if (fd < 0)
        return larder__lend_refused("opening the memory file again");
    larder__own_fd_keep(&sim->exported, fd);
    return LARDER_OK;
}

static larder_result range_export(struct sim *sim, struct sim_range *range)
{
    uint64_t offset = larder__sim_backing_offset(&sim->backing, range->addr);
    larder_result r = exported_open(sim);
    struct sim_lent *lent;

    if (r != LARDER_OK || range->lent != NULL)
        return r;
    lent = larder__host_alloc(1, sizeof *lent);
    if (lent == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__lend_lock(sim->exported.fd, F_RDLCK, offset, range->bytes)) {
        larder__host_free(lent);
        return larder__lend_refused("locking memory in the memory file");
    }
    *lent = (struct sim_lent){
        .place = range, .bytes = range->bytes, .is_memory = true};
    range->lent = lent;
    return LARDER_OK;
}

static larder_result handle_fill(const struct sim *sim,
                                 const struct sim_range *range, void *out)
{
    bool is_real = sim->backing.is_real;
    struct ipc_bytes h = {
        .magic = ipc_magic,
        .pid = getpid(),
        .start = larder__sim_process_start(getpid()),
        .file = is_real ? sim->backing.file.fd : -1,
        .offset = larder__sim_backing_offset(&sim->backing, range->addr),
        .bytes = range->bytes,
    };
    struct stat st;

    if (is_real && fstat(sim->backing.file.fd, &st) != 0)
        return larder__lend_refused("querying the memory file");
    h.inode = is_real ? st.st_ino : (uint64_t)sim->ordinal;
    memset(out, 0, SIM_IPC_BYTES);
    memcpy(out, &h, sizeof h);
    return LARDER_OK;
}

larder_result larder__sim_ipc_export(struct sim *sim, larder_addr addr,
                                     void *out)
{
    struct sim_range *range = larder__sim_mem_find(sim, addr);
    larder_result r = LARDER_OK;

    if (range == NULL)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "no allocation is at this address");
    if (sim->backing.is_real && !sim->backing.is_shared)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "its memory is not shared between processes");
    if (sim->backing.is_real)
        r = range_export(sim, range);
    return r == LARDER_OK ? handle_fill(sim, range, out) : r;
}

bool larder__sim_ipc_keeps(struct sim *sim, struct sim_range *range)
{
    struct sim_lent *lent = range->lent;
    uint64_t offset = larder__sim_backing_offset(&sim->backing, range->addr);

    (void)larder__lend_lock(sim->exported.fd, F_UNLCK, offset, range->bytes);
    if (larder__lend_locked(sim->backing.file.fd, offset, range->bytes)
            .l_type == F_UNLCK) {
        range->lent = NULL;
        larder__host_free(lent);
        return false;
    }
    lent->is_gone = true;
    lent->next = sim->lent;
    sim->lent = lent;
    return true;
}

/* ---- import ------------------------------------------------------------- */

bool larder__sim_ipc_is_handle(const void *handle, bool *is_own)
{
    const uint64_t limit = UINT64_C(1) << 45;
    struct ipc_bytes h;

    memcpy(&h, handle, sizeof h);
    *is_own =
        h.pid == getpid() && h.start == larder__sim_process_start(getpid());
    return h.magic == ipc_magic && h.pid > 0 && h.file == (int)h.file &&
           h.bytes - 1 < limit && h.offset < limit;
}

static larder_result is_over(const struct ipc_bytes *h, const char *what)
{
    return larder__sim_fail(LARDER_ERR_DEVICE, "%s of process %" PRId64 "%s",
                            "the memory", h->pid, what);
}

/* A page of the granules that the allocation is in, without its file. */
static struct sim_page *page_take(struct sim *sim, const struct ipc_bytes *h)
{
    struct sim_page *page = larder__sim_slots_take(&sim->pages);

    if (page == NULL)
        return NULL;
    page->foreign_offset = bits_down(h->offset, SIM_GRANULE);
    page->bytes =
        bits_up(h->offset + h->bytes, SIM_GRANULE) - page->foreign_offset;
    return page;
}

/* Import from an open file of the other process. */
static larder_result import_from(struct sim *sim, int fd,
                                 const struct ipc_bytes *h,
                                 struct sim_page **out)
{
    struct sim_foreign *f = NULL;
    struct sim_page *page;
    struct stat st;
    larder_result r;

    if (!larder__lend_is_file(fd) || fstat(fd, &st) != 0 ||
        st.st_ino != h->inode ||
        larder__lend_locked(fd, h->offset, h->bytes).l_type == F_UNLCK)
        return is_over(h, " is no longer allocated");
    r = larder__lend_foreign(sim, fd, &f);
    if (r != LARDER_OK)
        return r;
    page = page_take(sim, h);
    if (page == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__lend_lock(f->file.fd, F_RDLCK, page->foreign_offset,
                           page->bytes)) {
        larder__sim_slots_release(&sim->pages, page);
        return larder__lend_refused("locking memory in the memory file");
    }
    page->foreign = f;
    f->pages++;
    *out = page;
    return LARDER_OK;
}

static larder_result import_real(struct sim *sim, const struct ipc_bytes *h,
                                 struct sim_page **out)
{
    char process[24];
    larder_result r;
    int fd;

    snprintf(process, sizeof process, "%" PRId64, h->pid);
    fd = larder__lend_open_again(process, (int)h->file);
    if (fd < 0)
        return is_over(h, " cannot be opened");
    r = import_from(sim, fd, h, out);
    close(fd);
    larder__lend_foreign_sweep(sim);
    return r;
}

/* Without memory it is unknown whether it is still allocated. */
static larder_result import_bare(struct sim *sim, const struct ipc_bytes *h,
                                 struct sim_page **out)
{
    struct sim_foreign *f = larder__host_alloc(1, sizeof *f);
    struct sim_page *page = f == NULL ? NULL : page_take(sim, h);

    if (page == NULL) {
        larder__host_free(f);
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    *f = (struct sim_foreign){.next = sim->foreign, .file.fd = -1, .pages = 1};
    sim->foreign = f;
    page->foreign = f;
    *out = page;
    return LARDER_OK;
}

static larder_result ipc_import(struct sim *sim, const struct ipc_bytes *h,
                                struct sim_page **out)
{
    if (!larder__sim_process_lives((pid_t)h->pid, h->start))
        return is_over(h, " is gone with it");
    if (sim->backing.is_real != (h->file >= 0))
        return is_over(h, " cannot be mapped: only one of the two devices has "
                          "memory behind its addresses");
    return sim->backing.is_real ? import_real(sim, h, out)
                                : import_bare(sim, h, out);
}

/* Map the page at addresses of its own. */
static larder_result page_place_new(struct sim *sim, struct sim_page *page,
                                    larder_addr *out)
{
    uint64_t handle = larder__sim_slots_handle(&sim->pages, page);
    uint64_t bytes = page->bytes;
    larder_result r = larder__sim_address_reserve(sim, bytes, out);

    if (r != LARDER_OK)
        return r;
    r = larder__sim_map(sim, *out, bytes, handle);
    if (r == LARDER_OK) {
        r = larder__sim_set_access(sim, *out, bytes);
        if (r != LARDER_OK)
            (void)larder__sim_unmap(sim, *out, bytes);
    }
    if (r != LARDER_OK)
        (void)larder__sim_address_free(sim, *out, bytes);
    return r;
}

larder_result larder__sim_ipc_open(struct sim *sim, const void *handle,
                                   struct sim_ipc *out)
{
    struct sim_page *page = NULL;
    struct ipc_bytes h;
    larder_addr granules = 0;
    larder_result r;

    memcpy(&h, handle, sizeof h);
    r = ipc_import(sim, &h, &page);
    if (r != LARDER_OK)
        return r;
    *out = (struct sim_ipc){.bytes = h.bytes, .granules_bytes = page->bytes};
    r = page_place_new(sim, page, &granules);
    out->granules = granules;
    out->addr = granules + h.offset % SIM_GRANULE;
    /* The mapping keeps it. */
    (void)larder__sim_page_release(sim,
                                   larder__sim_slots_handle(&sim->pages, page));
    return r;
}

larder_result larder__sim_ipc_close(struct sim *sim, const struct sim_ipc *ipc)
{
    larder_result r = larder__sim_streams_wait(sim);

    if (r == LARDER_OK)
        r = larder__sim_unmap(sim, ipc->granules, ipc->granules_bytes);
    if (r == LARDER_OK)
        r = larder__sim_address_free(sim, ipc->granules, ipc->granules_bytes);
    return r;
}
