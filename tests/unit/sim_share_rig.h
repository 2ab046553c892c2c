/* sim_share_rig.h - a simulated GPU that several processes share.  Header only,
 * for cmocka programs. */
#pragma once

#include "device_rig.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/unique_name.h"

static char name[UNIQUE_NAME_MAX]; /* of this run's device */

static inline void sim_share_begin(void)
{
    snprintf(name, sizeof name, "%s", unique_name("test"));
}

static inline char *spec_of(const char *size, const char *settings)
{
    static char spec[128];

    snprintf(spec, sizeof spec, "sim:%s,backing=none,shared=%s%s", size, name,
             settings);
    return spec;
}

static inline larder_device *open_shared(const char *size, const char *settings)
{
    return open_one(spec_of(size, settings));
}

/* Whether the shared memory object exists. */
static inline bool object_exists(int ordinal)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/larder-sim2-%s.%d", name, ordinal);
    fd = shm_open(path, O_RDONLY, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* ---- other processes ------------------------------------------------------ */

static inline pid_t child_start(void (*main_fn)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        main_fn();
    return pid;
}

/* -1: a signal ended it. */
static inline int child_status(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { AT_ONCE_MAX = 4 };

/* Each ends with _exit(0). */
static inline void run_at_once(int count, void (*main_fn)(void))
{
    pid_t pids[AT_ONCE_MAX];

    for (int i = 0; i < count; i++)
        pids[i] = child_start(main_fn);
    for (int i = 0; i < count; i++)
        assert_int_equal(child_status(pids[i]), 0);
}
