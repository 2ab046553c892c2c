/* sim_ipc.c - allocations of the simulated GPU in other processes.
 *
 * A handle says where in which process's memory file the allocation is.  While
 * that is allocated, the process that exported it has a lock on as many bytes
 * behind the file's contents; each process that opens it locks the granules it
 * maps, in a description of its own.  So the kernel knows both, even if
 * processes die. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "device/sim_fail.h"
#include "device/sim_lend.h"
#include "device/sim_process.h"

_Static_assert(sizeof(struct lend_place) <= SIM_IPC_BYTES, "a handle holds it");

static const uint64_t ipc_magic = UINT64_C(0x3163706972726472);

/* ---- locks of what is allocated ------------------------------------------ */

/* Apart from those of its users, which may outlast it. */
static const uint64_t exported_locks = UINT64_C(1) << 45;

static bool exported_lock(const struct sim *sim, short type, uint64_t offset,
                          uint64_t bytes)
{
    return larder__lend_lock(sim->exported.fd, type, exported_locks + offset,
                             bytes);
}

/* Whether it is allocated: then it stays while the descriptor is open, because
 * that has a user's lock before this looks. */
static bool is_kept(const struct lend_place *p, int fd)
{
    struct flock lock;

    if (!larder__lend_place_lock(p, fd))
        return false;
    lock = larder__lend_locked(fd, exported_locks + p->offset, p->bytes);
    return lock.l_type != F_UNLCK &&
           lock.l_start == (off_t)(exported_locks + p->offset) &&
           lock.l_len == (off_t)p->bytes - 1;
}

/* ---- export ------------------------------------------------------------- */

/* The description whose locks say what is allocated. */
static larder_result exported_open(struct sim *sim)
{
    if (sim->exported.fd >= 0 ||
        larder__lend_open(0, sim->backing.file.fd, &sim->exported))
        return LARDER_OK;
    return larder__lend_refused("opening the memory file again");
}

static larder_result range_export(struct sim *sim, struct sim_range *range)
{
    uint64_t offset = larder__sim_backing_offset(&sim->backing, range->addr);
    larder_result r = exported_open(sim);

    if (r != LARDER_OK || range->is_lent)
        return r;
    if (!exported_lock(sim, F_RDLCK, offset, range->bytes))
        return larder__lend_refused("locking memory in the memory file");
    range->is_lent = true;
    return LARDER_OK;
}

static larder_result handle_fill(const struct sim *sim,
                                 const struct sim_range *range, void *out)
{
    uint64_t offset = larder__sim_backing_offset(&sim->backing, range->addr);
    struct lend_place place;
    larder_result r =
        larder__lend_place(sim, ipc_magic, offset, range->bytes, &place);

    if (r != LARDER_OK)
        return r;
    memset(out, 0, SIM_IPC_BYTES);
    memcpy(out, &place, sizeof place);
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
    uint64_t offset = larder__sim_backing_offset(&sim->backing, range->addr);

    (void)exported_lock(sim, F_UNLCK, offset, range->bytes);
    range->is_lent = larder__sim_lend_keeps(sim, range);
    return range->is_lent;
}

/* ---- import ------------------------------------------------------------- */

bool larder__sim_ipc_is_handle(const void *handle, bool *is_own)
{
    struct lend_place place;

    memcpy(&place, handle, sizeof place);
    *is_own = place.pid == getpid() &&
              place.start == larder__sim_process_start(getpid());
    return larder__lend_place_is_sound(&place, ipc_magic, UINT64_C(1) << 45);
}

static larder_result is_over(const struct lend_place *p, const char *what)
{
    return larder__sim_fail(LARDER_ERR_DEVICE, "%s of process %" PRId64 "%s",
                            "the memory", p->pid, what);
}

/* A page of the granules that the allocation is in. */
static larder_result granules_import(struct sim *sim, struct sim_foreign *f,
                                     const struct lend_place *p,
                                     struct sim_page **out)
{
    uint64_t begin = bits_down(p->offset, SIM_GRANULE);
    uint64_t end = bits_up(p->offset + p->bytes, SIM_GRANULE);

    return larder__lend_import(sim, f, begin, end - begin, out);
}

static larder_result import_real(struct sim *sim, const struct lend_place *p,
                                 struct sim_page **out)
{
    struct sim_foreign *f = NULL;
    struct own_fd file = {.fd = -1};
    larder_result r;

    if (!larder__lend_open(p->pid, p->file, &file))
        return is_over(p, " cannot be opened");
    if (!is_kept(p, file.fd))
        r = is_over(p, " is no longer allocated");
    else
        r = larder__lend_foreign(sim, file.fd, &f);
    if (r == LARDER_OK)
        r = granules_import(sim, f, p, out);
    larder__own_fd_close(&file);
    return r;
}

static larder_result ipc_import(struct sim *sim, const struct lend_place *p,
                                struct sim_page **out)
{
    larder_result r;

    if (!larder__sim_process_lives((pid_t)p->pid, p->start))
        return is_over(p, " is gone with it");
    if (sim->backing.is_real != (p->file >= 0))
        return is_over(p, " cannot be mapped: only one of the two devices has "
                          "memory behind its addresses");
    /* Without memory it is unknown whether it is still allocated. */
    r = sim->backing.is_real ? import_real(sim, p, out)
                             : granules_import(sim, &sim->nowhere, p, out);
    larder__lend_foreign_sweep(sim);
    return r;
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
    struct lend_place place;
    larder_addr granules = 0;
    larder_result r;

    memcpy(&place, handle, sizeof place);
    r = ipc_import(sim, &place, &page);
    if (r != LARDER_OK)
        return r;
    *out =
        (struct sim_ipc){.bytes = place.bytes, .granules_bytes = page->bytes};
    r = page_place_new(sim, page, &granules);
    out->granules = granules;
    out->addr = granules + place.offset % SIM_GRANULE;
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
