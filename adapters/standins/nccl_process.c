/* nccl_process.c - whether a process that left its number is still there. */
#include "nccl_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Text of /proc/PID/stat after the name, which is in parentheses and may
 * contain some.  NULL: there is no such process. */
static const char *stat_read(int64_t pid, char *text, size_t size)
{
    char path[64];
    const char *end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    end = strrchr(text, ')');
    return end == NULL || end[1] != ' ' ? NULL : end + 2;
}

uint64_t nccl_process_start(int64_t pid)
{
    enum { STATE = 0, THREADS = 17, START = 19 };
    char text[1024];
    const char *at = stat_read(pid, text, sizeof text);
    bool is_ended = false;
    uint64_t threads = 0;

    if (at == NULL)
        return 0;
    for (int field = STATE; field < START && *at != '\0'; field++) {
        is_ended |= field == STATE && (*at == 'Z' || *at == 'X');
        if (field == THREADS)
            threads = strtoull(at, NULL, 10);
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    /* With several threads only the first has ended. */
    return is_ended && threads <= 1 ? 0 : strtoull(at, NULL, 10);
}
