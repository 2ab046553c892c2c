/* sim_lend.c - pages of the simulated GPU shared between processes.
 *
 * A page is sent as an open file description of its memory file, positioned at
 * the page and holding a lock on its bytes.  Such a lock lasts as long as any
 * descriptor of the description, so the kernel knows how long a page is in
 * transit or in use, even if processes die.  An importer opens its own
 * description for each file, and locks the ranges of its pages there.
 *
 * If the creator releases a page before its users do, the page stays, and
 * counts for the creator, until they are done. */
#include "device/sim_lend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "device/sim_fail.h"
#include "device/sim_process.h"

_Static_assert(sizeof(struct lend_place) <= LARDER_FABRIC_BYTES,
               "a fabric handle holds it");
static const uint64_t fabric_magic = UINT64_C(0x31637266726472);

larder_result larder__lend_refused(const char *what)
{
    return larder__sim_fail(LARDER_ERR_SYSTEM, "%s failed: %s", what,
                            strerror(errno));
}

/* ---- identity ------------------------------------------------------------- */

static uint64_t sim_lend_mix(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Derived from the shared name; without one the identity is unique. */
void larder__sim_identify(struct sim *sim, const char *shared)
{
    static _Atomic uint64_t counter;
    uint64_t words[2] = {UINT64_C(0xcbf29ce484222325), 1};
    uint64_t start = larder__sim_process_start(getpid());
    pid_t pid = getpid();
    uint64_t number = ++counter;

    for (int i = 0; i < 2; i++) {
        uint64_t hash =
            sim_lend_mix(words[i], &sim->ordinal, sizeof sim->ordinal);

        hash = sim_lend_mix(hash, shared, strlen(shared));
        if (shared[0] == '\0') {
            hash = sim_lend_mix(hash, &pid, sizeof pid);
            hash = sim_lend_mix(hash, &start, sizeof start);
            hash = sim_lend_mix(hash, &number, sizeof number);
        }
        words[i] = hash;
    }
    memcpy(sim->uuid, words, sizeof sim->uuid);
}

/* ---- locks ---------------------------------------------------------------- */

static struct flock lock_of(short type, uint64_t offset, uint64_t bytes)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)offset,
        .l_len = (off_t)bytes - 1,
    };
}

bool larder__lend_lock(int file, short type, uint64_t offset, uint64_t bytes)
{
    struct flock lock = lock_of(type, offset, bytes);

    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

struct flock larder__lend_locked(int file, uint64_t offset, uint64_t bytes)
{
    struct flock lock = lock_of(F_WRLCK, offset, bytes);

    if (fcntl(file, F_OFD_GETLK, &lock) != 0)
        lock.l_type = F_UNLCK;
    return lock;
}

/* ---- places of memory files ----------------------------------------------- */

static int lend_open_again(int64_t pid, int64_t file)
{
    char process[24] = "self";
    char path[64];

    if (pid != 0)
        snprintf(process, sizeof process, "%" PRId64, pid);
    snprintf(path, sizeof path, "/proc/%s/fd/%" PRId64, process, file);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool larder__lend_open(int64_t pid, int64_t file, struct own_fd *out)
{
    int fd;

    larder__forks_bar();
    fd = lend_open_again(pid, file);
    if (fd >= 0)
        larder__own_fd_keep(out, fd);
    larder__forks_allow();
    return fd >= 0;
}

larder_result larder__lend_place(const struct sim *sim, uint64_t magic,
                                 uint64_t offset, uint64_t bytes,
                                 struct lend_place *out)
{
    bool is_real = sim->backing.is_real;
    struct stat st = {.st_ino = (ino_t)sim->ordinal};

    if (is_real && fstat(sim->backing.file.fd, &st) != 0)
        return larder__lend_refused("querying the memory file");
    *out = (struct lend_place){
        .magic = magic,
        .pid = getpid(),
        .start = larder__sim_process_start(getpid()),
        .file = is_real ? sim->backing.file.fd : -1,
        .inode = st.st_ino,
        .offset = offset,
        .bytes = bytes,
    };
    return LARDER_OK;
}

bool larder__lend_place_is_sound(const struct lend_place *p, uint64_t magic,
                                 uint64_t limit)
{
    return p->magic == magic && p->pid > 0 && p->file == (int)p->file &&
           p->bytes - 1 < limit && p->offset < limit;
}

/* Whether the descriptor refers to a simulated GPU's memory file. */
static bool is_memory_file(int fd)
{
    static const char expected[] = "/memfd:" SIM_FILE_NAME " ";
    char path[64];
    char target[sizeof expected];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target) >=
               (ssize_t)sizeof expected - 1 &&
           memcmp(target, expected, sizeof expected - 1) == 0;
}

bool larder__lend_place_lock(const struct lend_place *p, int fd)
{
    struct stat st;

    return is_memory_file(fd) && fstat(fd, &st) == 0 && st.st_ino == p->inode &&
           larder__lend_lock(fd, F_RDLCK, p->offset, p->bytes);
}

/* ---- export --------------------------------------------------------------- */

static larder_result export_fd(const struct sim *sim, const struct sim_page *p,
                               int *out)
{
    uint64_t offset = p->place->addr;
    int fd = lend_open_again(0, sim->backing.file.fd);

    if (fd < 0)
        return larder__lend_refused("opening the memory file again");
    if (lseek(fd, (off_t)offset, SEEK_SET) < 0 ||
        !larder__lend_lock(fd, F_RDLCK, offset, p->bytes)) {
        larder_result r =
            larder__lend_refused("locking a page in the memory file");

        close(fd);
        return r;
    }
    *out = fd;
    return LARDER_OK;
}

static larder_result export_fabric(const struct sim *sim,
                                   const struct sim_page *p, void *out)
{
    struct lend_place place;
    larder_result r =
        larder__lend_place(sim, fabric_magic, p->place->addr, p->bytes, &place);

    if (r == LARDER_OK)
        memcpy(out, &place, sizeof place);
    return r;
}

static larder_result export_check(const struct sim *sim,
                                  const struct sim_page *page,
                                  larder_handle_kind kind)
{
    if (kind == LARDER_HANDLE_NONE || !sim->backing.is_real)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "its pages are not made to be exported");
    if (page == NULL || page->is_released)
        return larder__sim_fail(LARDER_ERR_DEVICE, "there is no such page");
    if (page->foreign != NULL)
        return larder__sim_fail(
            LARDER_ERR_DEVICE,
            "the page was imported: only its creator can export it");
    return LARDER_OK;
}

larder_result larder__sim_page_export(struct sim *sim, uint64_t handle,
                                      larder_handle_kind kind,
                                      larder_page_handle *out)
{
    struct sim_page *page = larder__sim_slots_find(&sim->pages, handle);
    larder_page_handle made = {.kind = kind, .fd = -1};
    larder_result r = export_check(sim, page, kind);

    if (r != LARDER_OK)
        return r;
    page->place->is_lent = true;
    r = kind == LARDER_HANDLE_FD ? export_fd(sim, page, &made.fd)
                                 : export_fabric(sim, page, made.fabric);
    if (r == LARDER_OK)
        *out = made;
    return r;
}

static bool is_in_use(const struct sim *sim, const struct sim_range *range)
{
    uint64_t offset =
        range->is_memory
            ? larder__sim_backing_offset(&sim->backing, range->addr)
            : range->addr;

    return larder__lend_locked(sim->backing.file.fd, offset, range->bytes)
               .l_type != F_UNLCK;
}

bool larder__sim_lend_keeps(struct sim *sim, struct sim_range *range)
{
    if (!range->is_lent || !is_in_use(sim, range))
        return false;
    range->is_gone = true;
    range->gone_next = sim->gone;
    sim->gone = range;
    return true;
}

/* False: the host refused, and it is tried again. */
static bool gone_end(struct sim *sim, struct sim_range *range)
{
    if (range->is_memory)
        return larder__sim_mem_end(sim, range) == LARDER_OK;
    larder__sim_page_unplace(sim, range, range->bytes);
    return true;
}

void larder__sim_lend_sweep(struct sim *sim)
{
    struct sim_range **link = &sim->gone;

    while (*link != NULL) {
        struct sim_range *range = *link;
        struct sim_range *next = range->gone_next;

        if (is_in_use(sim, range) || !gone_end(sim, range))
            link = &range->gone_next;
        else
            *link = next;
    }
}

/* ---- import --------------------------------------------------------------- */

static larder_result not_a_page(void)
{
    return larder__sim_fail(LARDER_ERR_DEVICE,
                            "the handle is not one of a simulated GPU's page");
}

larder_result larder__lend_foreign(struct sim *sim, int fd,
                                   struct sim_foreign **out)
{
    struct sim_foreign *f = sim->foreign;
    struct stat st;

    if (!is_memory_file(fd) || fstat(fd, &st) != 0)
        return not_a_page();
    while (f != NULL && (f->device != st.st_dev || f->inode != st.st_ino))
        f = f->next;
    if (f != NULL) {
        *out = f;
        return LARDER_OK;
    }
    f = larder__host_alloc(1, sizeof *f);
    if (f == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__lend_open(0, fd, &f->file)) {
        larder__host_free(f);
        return larder__lend_refused("opening the page's memory file");
    }
    f->device = st.st_dev;
    f->inode = st.st_ino;
    f->next = sim->foreign;
    sim->foreign = f;
    *out = f;
    return LARDER_OK;
}

void larder__lend_foreign_sweep(struct sim *sim)
{
    struct sim_foreign **link = &sim->foreign;

    while (*link != NULL) {
        struct sim_foreign *f = *link;

        if (f->pages != 0) {
            link = &f->next;
            continue;
        }
        *link = f->next;
        larder__own_fd_close(&f->file);
        larder__host_free(f);
    }
}

/* A page imported from this place, other than the one numbered `other_than`. */
static struct sim_page *page_at(const struct sim *sim,
                                const struct sim_foreign *f, uint64_t offset,
                                uint32_t other_than)
{
    for (uint32_t i = 0; i < sim->pages.count; i++) {
        struct sim_page *page = larder__sim_slots_at(&sim->pages, i);

        if (i != other_than && page->slot.next == SIM_SLOT_TAKEN &&
            page->foreign == f && page->foreign_offset == offset)
            return page;
    }
    return NULL;
}

/* The size of the page at this place; 0: there is none.  Our own locks do not
 * show, so pages already imported are looked up first. */
static uint64_t page_measure(const struct sim *sim, const struct sim_foreign *f,
                             uint64_t offset)
{
    const struct sim_page *twin = page_at(sim, f, offset, UINT32_MAX);
    struct flock lock;

    if (twin != NULL)
        return twin->bytes;
    lock = larder__lend_locked(f->file.fd, offset, SIM_GRANULE);
    return lock.l_type == F_UNLCK || (uint64_t)lock.l_start != offset
               ? 0
               : (uint64_t)lock.l_len + 1;
}

larder_result larder__lend_import(struct sim *sim, struct sim_foreign *f,
                                  uint64_t offset, uint64_t bytes,
                                  struct sim_page **out)
{
    struct sim_page *page = larder__sim_slots_take(&sim->pages);

    if (page == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (f->file.fd >= 0 &&
        !larder__lend_lock(f->file.fd, F_RDLCK, offset, bytes)) {
        larder__sim_slots_release(&sim->pages, page);
        return larder__lend_refused("locking memory in the memory file");
    }
    page->bytes = bytes;
    page->foreign = f;
    page->foreign_offset = offset;
    f->pages++;
    *out = page;
    return LARDER_OK;
}

/* Import a page of `bytes` at this place of the descriptor's file. */
static larder_result import_at(struct sim *sim, int fd, uint64_t offset,
                               uint64_t bytes, uint64_t *out)
{
    struct sim_foreign *f = NULL;
    struct sim_page *page;
    uint64_t measured;
    larder_result r = larder__lend_foreign(sim, fd, &f);

    if (r != LARDER_OK)
        return r;
    measured = page_measure(sim, f, offset);
    if (measured == 0 || (bytes != 0 && bytes != measured))
        return larder__sim_fail(
            LARDER_ERR_DEVICE,
            "no page of %" PRIu64 " bytes is exported there (any more)", bytes);
    r = larder__lend_import(sim, f, offset, measured, &page);
    if (r == LARDER_OK)
        *out = larder__sim_slots_handle(&sim->pages, page);
    return r;
}

static larder_result import_fd(struct sim *sim, int fd, uint64_t bytes,
                               uint64_t *out)
{
    off_t offset = is_memory_file(fd) ? lseek(fd, 0, SEEK_CUR) : -1;

    return offset < 0 ? not_a_page()
                      : import_at(sim, fd, (uint64_t)offset, bytes, out);
}

/* A fabric handle carries no lock: a temporary one protects the page until it
 * has its own. */
static larder_result import_fabric(struct sim *sim, const void *from,
                                   uint64_t bytes, uint64_t *out)
{
    struct lend_place place;
    struct own_fd file = {.fd = -1};
    larder_result r;

    memcpy(&place, from, sizeof place);
    if (!larder__lend_place_is_sound(&place, fabric_magic, UINT64_C(1) << 44) ||
        place.file < 0)
        return not_a_page();
    if (!larder__sim_process_lives((pid_t)place.pid, place.start) ||
        !larder__lend_open(place.pid, place.file, &file))
        return larder__sim_fail(
            LARDER_ERR_DEVICE,
            "process %" PRId64 ", which owned the page, has ended", place.pid);
    r = larder__lend_place_lock(&place, file.fd)
            ? import_at(sim, file.fd, place.offset, bytes, out)
            : not_a_page();
    larder__own_fd_close(&file);
    return r;
}

larder_result larder__sim_page_import(struct sim *sim,
                                      const larder_page_handle *handle,
                                      uint64_t bytes, uint64_t *out)
{
    larder_result r = not_a_page();

    if (!sim->backing.is_real)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "pages without memory are not imported");
    if (handle->kind == LARDER_HANDLE_FD)
        r = import_fd(sim, handle->fd, bytes, out);
    else if (handle->kind == LARDER_HANDLE_FABRIC)
        r = import_fabric(sim, handle->fabric, bytes, out);
    larder__lend_foreign_sweep(sim);
    return r;
}

void larder__sim_lend_return(struct sim *sim, struct sim_page *page)
{
    struct sim_foreign *f = page->foreign;

    if (page_at(sim, f, page->foreign_offset,
                larder__sim_slots_number(&sim->pages, page)) == NULL)
        (void)larder__lend_lock(f->file.fd, F_UNLCK, page->foreign_offset,
                                page->bytes);
    page->foreign = NULL;
    f->pages--;
    larder__lend_foreign_sweep(sim);
}

/* ---- cleanup -------------------------------------------------------------- */

void larder__sim_lend_close(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->pages.count; i++) {
        struct sim_page *page = larder__sim_slots_at(&sim->pages, i);

        if (page->slot.next == SIM_SLOT_TAKEN && page->foreign != NULL)
            page->foreign->pages = 0;
    }
    larder__lend_foreign_sweep(sim);
    larder__own_fd_close(&sim->exported);
}
