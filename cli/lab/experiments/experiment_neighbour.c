/* experiment_neighbour.c - the other process on the device, a child that
 * executes commands. */
/* The other process receives commands of one byte on a socket, and answers with
 * the bytes it holds. */
#include "experiment_neighbour.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAKE = 't', GIVE_BACK = 'g', PIECES_MAX = 256 };
#define PIECE_BYTES (512 * MIB)
#define NOT_DONE UINT64_MAX

static bool send_all(int fd, const void *data, size_t bytes)
{
    ssize_t n;

    /* If it is gone no signal may end this process. */
    do
        n = send(fd, data, bytes, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes;
}

static bool receive_all(int fd, void *data, size_t bytes)
{
    ssize_t n;

    do
        n = recv(fd, data, bytes, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes;
}

/* ---- the child ---- */

static uint64_t reserved_by(larder_allocator *a)
{
    larder_stats stats;

    larder_stats_init(&stats);
    if (larder_stats_get(a, &stats) != LARDER_OK)
        return NOT_DONE;
    return (uint64_t)stats.reserved_bytes.all.current;
}

static uint64_t take_all(larder_allocator *a)
{
    for (int i = 0; i < PIECES_MAX; i++) {
        larder_addr addr;

        if (larder_alloc(a, PIECE_BYTES, 0, &addr) != LARDER_OK)
            break;
    }
    return reserved_by(a);
}

/* As another user of PyTorch would. */
static larder_result make_allocator(larder_device *dev, larder_allocator **out)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    return larder_create(dev, &opt, out);
}

/* Release everything by making a new allocator. */
static uint64_t release_all(larder_device *dev, larder_allocator **a)
{
    if (larder_destroy(*a) != LARDER_OK || make_allocator(dev, a) != LARDER_OK)
        return NOT_DONE;
    return reserved_by(*a);
}

static void serve(const char *spec, int fd)
{
    larder_device *dev;
    larder_allocator *a;
    char command;

    if (larder_device_open(spec, 0, &dev) != LARDER_OK ||
        make_allocator(dev, &a) != LARDER_OK)
        return;
    while (receive_all(fd, &command, 1)) {
        uint64_t answer = command == TAKE ? take_all(a) : release_all(dev, &a);

        if (!send_all(fd, &answer, sizeof answer))
            break;
    }
    larder_destroy(a);
    larder_device_close(dev);
}

/* ---- the parent ---- */

bool neighbour_start(struct exp *e, const char *spec, struct neighbour *out)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return exp_fail(e, "cannot create a socket for a second process: %s",
                        strerror(errno));
    out->pid = fork();
    if (out->pid == 0) {
        close(ends[0]);
        serve(spec, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    out->fd = ends[0];
    if (out->pid > 0)
        return true;
    close(ends[0]);
    return exp_fail(e, "cannot start a second process: %s", strerror(errno));
}

void neighbour_end(struct neighbour *n)
{
    close(n->fd);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static bool experiment_neighbour_tell(struct exp *e, struct neighbour *n,
                                      char command, uint64_t *bytes)
{
    if (!send_all(n->fd, &command, 1) ||
        !receive_all(n->fd, bytes, sizeof *bytes) || *bytes == NOT_DONE)
        return exp_fail(e, "the second process does not respond");
    return true;
}

bool neighbour_takes_all(struct exp *e, struct neighbour *n, uint64_t *bytes)
{
    return experiment_neighbour_tell(e, n, TAKE, bytes);
}

bool neighbour_gives_back(struct exp *e, struct neighbour *n)
{
    uint64_t bytes;

    return experiment_neighbour_tell(e, n, GIVE_BACK, &bytes);
}
