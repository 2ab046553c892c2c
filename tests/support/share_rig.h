/* share_rig.h - shared by the tests of shared memory: sockets, patterns, and
 * another process, which is this program run again.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "rig.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/share.h>

/* ---- sockets --------------------------------------------------------------- */

struct pair {
    int near;
    int far;
};

static inline struct pair pair_up(int type)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, type, 0, fds), 0);
    return (struct pair){.near = fds[0], .far = fds[1]};
}

static inline void pair_down(struct pair *p)
{
    if (p->near >= 0)
        close(p->near);
    if (p->far >= 0)
        close(p->far);
    *p = (struct pair){-1, -1};
}

static inline void send_byte(int socket, char what)
{
    assert_int_equal(write(socket, &what, 1), 1);
}

static inline void expect_byte(int socket, char what)
{
    char got = 0;

    assert_int_equal(read(socket, &got, 1), 1);
    assert_int_equal(got, what);
}

/* ---- patterns --------------------------------------------------------------- */

enum { PATTERN_STEP = 4096 - 8 };

static inline uint64_t pattern_at(uint64_t seed, uint64_t offset)
{
    return (seed + offset) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline void pattern_put(larder_addr addr, uint64_t bytes, uint64_t seed)
{
    for (uint64_t at = 0; at + 8 <= bytes; at += PATTERN_STEP)
        *(volatile uint64_t *)(uintptr_t)(addr + at) = pattern_at(seed, at);
}

static inline void pattern_is(larder_addr addr, uint64_t bytes, uint64_t seed)
{
    for (uint64_t at = 0; at + 8 <= bytes; at += PATTERN_STEP)
        assert_int_equal(*(volatile uint64_t *)(uintptr_t)(addr + at),
                         pattern_at(seed, at));
}

static inline larder_import_info import_info(const larder_import *m)
{
    larder_import_info info = {.size = sizeof info};

    assert_ok(larder_import_get(m, &info));
    return info;
}

/* ---- the other process ------------------------------------------------------ */

struct peer {
    pid_t pid;
    int socket;
};

/* Starts this program again with the arguments "--peer", its end of the socket,
 * its part and the device. */
static inline struct peer peer_start(const char *part, const char *spec)
{
    struct pair p = pair_up(SOCK_STREAM);
    char number[16];
    pid_t pid;

    snprintf(number, sizeof number, "%d", p.far);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(p.near);
        execl("/proc/self/exe", "peer", "--peer", number, part, spec,
              (char *)NULL);
        _exit(127);
    }
    close(p.far);
    return (struct peer){.pid = pid, .socket = p.near};
}

/* The process must have ended without failure. */
static inline void peer_end(struct peer *p)
{
    int status = 0;

    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(p->socket);
}
