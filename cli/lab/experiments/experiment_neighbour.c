/* experiment_neighbour.c - the other process on the device: a child that holds
 * memory until its socket is closed. */
#include "experiment_neighbour.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECES_MAX = 256 };
#define PIECE_BYTES (512 * MIB)

static bool receive(int fd, void *data, size_t bytes)
{
    ssize_t n;

    do
        n = recv(fd, data, bytes, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes;
}

/* As another user of PyTorch would. */
static void hold_all(larder_allocator *a, int fd)
{
    larder_stats stats;
    larder_addr addr;
    uint64_t bytes;
    char never;

    for (int i = 0; i < PIECES_MAX; i++) {
        if (larder_alloc(a, PIECE_BYTES, 0, &addr) != LARDER_OK)
            break;
    }
    larder_stats_init(&stats);
    if (larder_stats_get(a, &stats) != LARDER_OK)
        return;
    bytes = (uint64_t)stats.reserved_bytes.all.current;
    if (send(fd, &bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes)
        receive(fd, &never, 1);
}

static void run_child(const char *spec, int fd)
{
    larder_device *dev;
    larder_allocator *a;
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    if (larder_device_open(spec, 0, &dev) != LARDER_OK)
        return;
    if (larder_create(dev, &opt, &a) == LARDER_OK) {
        hold_all(a, fd);
        larder_destroy(a);
    }
    larder_device_close(dev);
}

bool neighbour_takes_all(struct exp *e, const char *spec, struct neighbour *out,
                         uint64_t *bytes)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return exp_fail(e, "cannot create a socket for a second process: %s",
                        strerror(errno));
    out->fd = ends[0];
    out->pid = fork();
    if (out->pid == 0) {
        close(ends[0]);
        run_child(spec, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (out->pid < 0) {
        close(out->fd);
        return exp_fail(e, "cannot start a second process: %s",
                        strerror(errno));
    }
    if (receive(out->fd, bytes, sizeof *bytes))
        return true;
    neighbour_ends(out);
    return exp_fail(e, "the second process does not respond");
}

bool neighbour_ends(struct neighbour *n)
{
    close(n->fd);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return true;
}
