/* unique_name.h - names for shared objects that no other run has: neither one at
 * the same time, nor one that was killed and whose process number came again.
 * Header only. */
#pragma once

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { UNIQUE_NAME_MAX = 48 };

/* `what` and what is this run's own; always the same, also in a child that is
 * forked after the first call.  Valid until the next call. */
static inline const char *unique_name(const char *what)
{
    static char own[32];
    static char name[UNIQUE_NAME_MAX];
    struct timespec now;

    if (own[0] == '\0') {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(own, sizeof own, "%lx-%lx.%lx", (long)getpid(),
                 (long)now.tv_sec, now.tv_nsec);
    }
    snprintf(name, sizeof name, "%.14s-%s", what, own);
    return name;
}
