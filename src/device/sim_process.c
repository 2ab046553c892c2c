/* sim_process.c - whether a process that recorded its number is still alive. */
#include "device/sim_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct process_stat {
    char state;
    uint64_t threads;
    uint64_t start;
};

/* The fields of /proc/PID/stat behind the name: the first is the state, the 18th
 * the number of threads, the 20th the start. */
#define STAT_FORMAT                                                            \
    "%c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%" SCNu64 "%*s%" SCNu64

/* False: the system does not say. */
static bool stat_read(pid_t pid, struct process_stat *out)
{
    char path[64], text[1024];
    const char *name_end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    /* The name is in parentheses, and may contain some. */
    name_end = strrchr(text, ')');
    if (name_end == NULL || name_end[1] != ' ')
        return false;
    return sscanf(name_end + 2, STAT_FORMAT, &out->state, &out->threads,
                  &out->start) == 3 &&
           out->start != 0;
}

uint64_t larder__sim_process_start(pid_t pid)
{
    struct process_stat st;

    return stat_read(pid, &st) ? st.start : 0;
}

bool larder__sim_process_lives(pid_t pid, uint64_t start)
{
    struct process_stat st;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    if (!stat_read(pid, &st))
        return true;
    if (start != 0 && st.start != start)
        return false;
    /* It is a zombie.  If it has several threads, only the first may have
     * ended. */
    return !((st.state == 'Z' || st.state == 'X') && st.threads <= 1);
}
