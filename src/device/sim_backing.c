/* sim_backing.c - the memory behind the addresses of a simulated GPU. */
#include "device/sim_backing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/fail.h"
#include "device/sim_fail.h"

/* Regions are 16 TiB long if possible.  Sanitizers reserve most of the address
 * space, and the thread sanitizer terminates a program that asks for more than
 * is left. */
static const uint64_t region_bytes_max = UINT64_C(1) << 44;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SIM_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SIM_SANITIZED 1
#endif

#ifdef SIM_SANITIZED
static const uint64_t region_bytes_first_try = UINT64_C(1) << 38;
#else
static const uint64_t region_bytes_first_try = UINT64_C(1) << 44;
#endif

static larder_result sim_backing_refused(const char *what, uint64_t bytes)
{
    return larder__sim_fail(LARDER_ERR_SYSTEM,
                            "the host cannot %s %llu bytes: %s", what,
                            (unsigned long long)bytes, strerror(errno));
}

/* ---- opening ------------------------------------------------------------ */

/* Map two empty regions, at `wish` if it is free, both aligned to 2 MiB.  0:
 * there is no room for them. */
static larder_addr regions_map(larder_addr wish, uint64_t region_bytes)
{
    const uint64_t align = 2 * LARDER_MIB;
    uint64_t bytes = 2 * region_bytes + align;
    void *got = mmap(sim_pointer(wish), bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    larder_addr begin, first;

    if (got == MAP_FAILED)
        return 0;
    begin = (larder_addr)(uintptr_t)got;
    first = bits_up(begin, align);
    if (first > begin)
        munmap(got, first - begin);
    munmap(sim_pointer(first + 2 * region_bytes), begin + align - first);
    return first;
}

static larder_result regions_open(struct sim_backing *b, int ordinal,
                                  uint64_t capacity_bytes)
{
    uint64_t bytes = region_bytes_first_try;

    while (bytes < capacity_bytes)
        bytes *= 2;
    for (; bytes >= capacity_bytes && bytes >= 2 * LARDER_MIB; bytes /= 2) {
        b->first = regions_map(b->first, bytes);
        if (b->first != 0) {
            b->region_bytes = bytes;
            return LARDER_OK;
        }
    }
    return larder__fail(LARDER_ERR_SYSTEM,
                        "device %d: the process has no room for the "
                        "addresses of %llu bytes of simulated memory: try "
                        "backing=none",
                        ordinal, (unsigned long long)capacity_bytes);
}

/* Create a file with room for pages at any offset; holes use no memory. */
static larder_result file_open(struct sim_backing *b)
{
    int fd;

    larder__forks_bar();
    fd = memfd_create(SIM_FILE_NAME, MFD_CLOEXEC);
    if (fd >= 0)
        larder__own_fd_keep(&b->file, fd);
    larder__forks_allow();
    if (fd >= 0 && ftruncate(fd, (off_t)region_bytes_max) == 0)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_SYSTEM,
                        "the host has no memory file for simulated pages: %s",
                        strerror(errno));
}

larder_result larder__sim_backing_open(struct sim_backing *b, bool is_real,
                                       int ordinal, uint64_t capacity_bytes)
{
    larder_result r;

    *b = (struct sim_backing){
        .is_real = is_real,
        .file.fd = -1,
        .first = (1 + 2 * (larder_addr)ordinal) * region_bytes_max,
        .region_bytes = region_bytes_max,
        .host_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
    };
    if (!is_real)
        return LARDER_OK;
    r = regions_open(b, ordinal, capacity_bytes);
    if (r != LARDER_OK)
        return r;
    r = file_open(b);
    if (r != LARDER_OK)
        larder__sim_backing_close(b);
    return r;
}

void larder__sim_backing_close(struct sim_backing *b)
{
    if (!b->is_real)
        return;
    munmap(sim_pointer(b->first), 2 * b->region_bytes);
    larder__own_fd_close(&b->file);
}

/* Map a part of a file.  A forked child's writes would be visible to its parent,
 * so it gets none of it. */
static bool file_map(larder_addr addr, uint64_t bytes, int file,
                     uint64_t offset)
{
    bool is_mapped;

    larder__forks_bar();
    is_mapped = mmap(sim_pointer(addr), bytes, PROT_NONE,
                     MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
                     (off_t)offset) != MAP_FAILED;
    if (is_mapped)
        madvise(sim_pointer(addr), bytes, MADV_DONTFORK);
    larder__forks_allow();
    return is_mapped;
}

larder_result larder__sim_backing_share(struct sim_backing *b)
{
    if (!b->is_real || b->is_shared)
        return LARDER_OK;
    if (ftruncate(b->file.fd, 2 * (off_t)region_bytes_max) != 0 ||
        !file_map(b->first, b->region_bytes, b->file.fd, region_bytes_max))
        return sim_backing_refused("share", b->region_bytes);
    b->is_shared = true;
    return LARDER_OK;
}

uint64_t larder__sim_backing_offset(const struct sim_backing *b,
                                    larder_addr addr)
{
    return region_bytes_max + (addr - b->first);
}

/* ---- the first region --------------------------------------------------- */

larder_result larder__sim_backing_commit(struct sim_backing *b,
                                         larder_addr addr, uint64_t bytes)
{
    larder_addr begin = bits_down(addr, b->host_page_bytes);
    larder_addr end = bits_up(addr + bytes, b->host_page_bytes);

    if (b->is_real &&
        mprotect(sim_pointer(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
        return sim_backing_refused("give", bytes);
    return LARDER_OK;
}

/* In two steps, because the first may fail and the second cannot: one new
 * mapping over the old could fail half-way. */
larder_result larder__sim_backing_decommit(struct sim_backing *b,
                                           larder_addr addr, uint64_t bytes)
{
    larder_addr begin = bits_up(addr, b->host_page_bytes);
    larder_addr end = bits_down(addr + bytes, b->host_page_bytes);

    if (!b->is_real || begin >= end)
        return LARDER_OK;
    if (mprotect(sim_pointer(begin), end - begin, PROT_NONE) != 0)
        return sim_backing_refused("take back", bytes);
    if (b->is_shared)
        larder__sim_backing_discard(b, larder__sim_backing_offset(b, begin),
                                    end - begin);
    else
        madvise(sim_pointer(begin), end - begin, MADV_DONTNEED);
    return LARDER_OK;
}

/* ---- the second region -------------------------------------------------- */

larder_result larder__sim_backing_map(struct sim_backing *b, larder_addr addr,
                                      uint64_t bytes, int file, uint64_t offset)
{
    return !b->is_real || file_map(addr, bytes, file, offset)
               ? LARDER_OK
               : sim_backing_refused("map", bytes);
}

larder_result larder__sim_backing_unmap(struct sim_backing *b, larder_addr addr,
                                        uint64_t bytes)
{
    if (b->is_real &&
        mmap(sim_pointer(addr), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
             0) == MAP_FAILED)
        return sim_backing_refused("unmap", bytes);
    return LARDER_OK;
}

larder_result larder__sim_backing_access(struct sim_backing *b,
                                         larder_addr addr, uint64_t bytes)
{
    if (b->is_real &&
        mprotect(sim_pointer(addr), bytes, PROT_READ | PROT_WRITE) != 0)
        return sim_backing_refused("give access to", bytes);
    return LARDER_OK;
}

/* If punching the hole fails it costs only host memory, until the device is
 * closed. */
void larder__sim_backing_discard(struct sim_backing *b, uint64_t offset,
                                 uint64_t bytes)
{
    if (b->is_real)
        fallocate(b->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)offset, (off_t)bytes);
}
