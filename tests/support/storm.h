/* storm.h - shared by the storms of processes: arguments, random numbers,
 * blocks with a value at both ends, and a check whose failure ends the process,
 * as it must in a child.
 *
 * Header only; for programs of one file. */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "support/random.h"
#include "support/rig.h"

#define MUST(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__,   \
                    __LINE__, #condition, larder_last_error());                \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

struct held {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
    unsigned char value;
};

static char spec[128];
static uint64_t random_state;
static long seconds;

static inline uint64_t below(uint64_t n)
{
    return random_u64(&random_state, n);
}

static inline unsigned char *ends_of(const struct held *h, int which)
{
    return (unsigned char *)(uintptr_t)h->addr + (which ? h->bytes - 1 : 0);
}

static inline void held_mark(const struct held *h)
{
    *ends_of(h, 0) = h->value;
    *ends_of(h, 1) = h->value;
}

/* Parses SECONDS and SEED, if given; returns memory shared by all the
 * processes; NULL: no memory. */
static inline void *storm_begin(int argc, char **argv, long seconds_quick,
                                size_t bytes)
{
    void *all;

    seconds = argc > 1 ? strtol(argv[1], NULL, 10) : seconds_quick;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 1;
    unsetenv("LARDER_CONF");
    all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
               -1, 0);
    return all == MAP_FAILED ? NULL : all;
}
