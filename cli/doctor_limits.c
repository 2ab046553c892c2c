/* doctor_limits.c - the system's limits for a process. */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "snapshot/units.h"

#define GIB (UINT64_C(1) << 30)

/* Lower limits break programs that do nothing unusual. */
enum { FILES_FEW = 1024, MAPPINGS_FEW = 65530 };

/* ---- limits of the process -------------------------------------------------- */

static void check_address_space(struct doctor *d)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_say(d, DOCTOR_FINE, "address space", "not limited");
        return;
    }
    doctor_say(d, DOCTOR_PROBLEM, "address space", "limited to %s (RLIMIT_AS)",
               units_bytes(limit.rlim_cur));
    doctor_advise(d, "drivers and expandable segments reserve address space "
                     "for more than the GPU's memory: raise it (ulimit -v "
                     "unlimited)");
}

static void check_files(struct doctor *d)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    doctor_say(d, limit.rlim_cur < FILES_FEW ? DOCTOR_PROBLEM : DOCTOR_FINE,
               "open files", "%" PRIu64 " (RLIMIT_NOFILE)",
               (uint64_t)limit.rlim_cur);
    if (limit.rlim_cur < FILES_FEW)
        doctor_advise(d,
                      "sharing memory opens descriptors for its pages: raise "
                      "it (ulimit -n %d)",
                      FILES_FEW);
}

static void check_locked(struct doctor *d)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_say(d, DOCTOR_FINE, "locked memory", "not limited");
    else
        doctor_say(d, DOCTOR_FINE, "locked memory", "%s (RLIMIT_MEMLOCK)",
                   units_bytes(limit.rlim_cur));
}

/* ---- limits of the container -------------------------------------------------- */

/* The minimum of `file` over a group and its ancestors. `group` is shortened
 * from its end. */
static uint64_t lowest_limit(const char *root, char *group, const char *file)
{
    uint64_t lowest = UINT64_MAX;

    for (;;) {
        char path[PATH_MAX + 64], text[64];
        char *slash, *end;
        uint64_t limit;

        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        if (doctor_read_line(path, text, sizeof text)) {
            errno = 0;
            limit = strtoull(text, &end, 10);
            if (end != text && errno == 0 && limit < lowest)
                lowest = limit;
        }
        slash = strrchr(group, '/');
        if (slash == NULL)
            return lowest;
        *slash = '\0';
    }
}

/* The host memory that control groups (version 2, "0::/path", or 1,
 * "4:memory:/path") allow this process. */
static uint64_t container_limit(void)
{
    FILE *in = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX];
    uint64_t lowest = UINT64_MAX;

    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        uint64_t limit = UINT64_MAX;

        if (group == NULL)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (controllers[1] == '\0')
            limit = lowest_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strcmp(controllers + 1, "memory") == 0)
            limit = lowest_limit("/sys/fs/cgroup/memory", group,
                                 "memory.limit_in_bytes");
        if (limit < lowest)
            lowest = limit;
    }
    if (in != NULL)
        fclose(in);
    return lowest;
}

static void check_container(struct doctor *d)
{
    uint64_t limit = container_limit();

    /* Version 1 writes a number near 2^63 for "none". */
    if (limit >= UINT64_C(1) << 62) {
        doctor_say(d, DOCTOR_FINE, "container memory", "not limited");
        return;
    }
    doctor_say(d, DOCTOR_NOTE, "container memory",
               "limited to %s: host memory, pinned memory and a simulated GPU "
               "with backing=memory count towards it",
               units_bytes(limit));
}

/* ---- limits of the system --------------------------------------------------- */

static void check_mappings(struct doctor *d)
{
    char text[64];
    long count;

    if (!doctor_read_line("/proc/sys/vm/max_map_count", text, sizeof text))
        return;
    count = strtol(text, NULL, 10);
    doctor_say(d, count < MAPPINGS_FEW ? DOCTOR_PROBLEM : DOCTOR_FINE,
               "mappings", "%ld for a process (vm.max_map_count)", count);
    if (count < MAPPINGS_FEW)
        doctor_advise(d,
                      "each page of a simulated GPU with real memory is a "
                      "mapping: sysctl vm.max_map_count=%d",
                      MAPPINGS_FEW);
}

static void check_overcommit(struct doctor *d)
{
    char text[64];

    if (!doctor_read_line("/proc/sys/vm/overcommit_memory", text, sizeof text))
        return;
    if (strcmp(text, "2") != 0) {
        doctor_say(d, DOCTOR_FINE, "overcommit", "allowed");
        return;
    }
    doctor_say(d, DOCTOR_NOTE, "overcommit",
               "forbidden (vm.overcommit_memory=2)");
    doctor_advise(d, "a simulated GPU with real memory may not open: use "
                     "backing=none, or sysctl vm.overcommit_memory=0");
}

static void check_shared(struct doctor *d)
{
    struct statvfs fs;
    uint64_t size;

    if (statvfs("/dev/shm", &fs) != 0) {
        doctor_say(d, DOCTOR_NOTE, "shared memory", "/dev/shm does not exist");
        doctor_advise(d, "sim:SIZE,shared=NAME and PyTorch's data loaders "
                         "need it: mount a tmpfs there");
        return;
    }
    size = (uint64_t)fs.f_blocks * fs.f_frsize;
    doctor_say(d, size < GIB ? DOCTOR_NOTE : DOCTOR_FINE, "shared memory",
               "%s (/dev/shm)", units_bytes(size));
    if (size < GIB)
        doctor_advise(d, "PyTorch's data loaders pass batches through it and "
                         "crash if it is full: start the container with "
                         "--shm-size=8g, or --ipc=host");
}

void doctor_limits(struct doctor *d)
{
    d->part = "limits";
    check_address_space(d);
    check_files(d);
    check_locked(d);
    check_container(d);
    check_mappings(d);
    check_overcommit(d);
    check_shared(d);
}
