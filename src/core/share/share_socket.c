/* share_socket.c - sends bytes and descriptors over a UNIX socket. */
#include "core/share/share_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fail.h"

/* The kernel passes at most this many with one message (SCM_MAX_FD). */
enum { FDS_MAX = 253 };

union control {
    struct cmsghdr align;
    unsigned char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

void larder__fds_close(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

static larder_result share_socket_refused(const char *what)
{
    if (errno == EPIPE || errno == ECONNRESET)
        return larder__fail(LARDER_ERR_SYSTEM,
                            "%s failed: the peer has closed the socket", what);
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return larder__fail(LARDER_ERR_SYSTEM,
                            "%s failed: the socket timed out", what);
    if (errno == EBADF || errno == ENOTSOCK || errno == ENOTCONN)
        return larder__fail(LARDER_ERR_INVALID,
                            "%s failed: expected a connected UNIX socket: %s",
                            what, strerror(errno));
    return larder__fail(LARDER_ERR_SYSTEM, "%s failed: %s", what,
                        strerror(errno));
}

/* ---- sending -------------------------------------------------------------- */

static void fds_attach(struct msghdr *m, union control *control, const int *fds,
                       size_t count)
{
    struct cmsghdr *c;

    memset(control, 0, sizeof *control);
    m->msg_control = control;
    m->msg_controllen = CMSG_SPACE(count * sizeof *fds);
    c = CMSG_FIRSTHDR(m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof *fds);
    memcpy(CMSG_DATA(c), fds, count * sizeof *fds);
}

larder_result larder__socket_send(int socket, const void *bytes, size_t count,
                                  const int *fds, size_t fd_count)
{
    const unsigned char *at = bytes;
    union control control;

    while (count > 0) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)at,
                             .iov_len = count};
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent;

        if (fd_count > 0)
            fds_attach(&m, &control, fds, fd_count);
        sent = sendmsg(socket, &m, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return share_socket_refused("sending memory");
        at += sent;
        count -= (size_t)sent;
        fd_count = 0;
    }
    return LARDER_OK;
}

/* ---- receiving ------------------------------------------------------------ */

struct receiving {
    int *fds;
    size_t capacity;
    size_t got;
    bool has_more; /* more than that came, and were closed */
};

static void fd_take(struct receiving *r, int fd)
{
    if (r->got < r->capacity) {
        r->fds[r->got++] = fd;
        return;
    }
    r->has_more = true;
    close(fd);
}

/* Take every descriptor that came, wanted or not, so that none leaks. */
static void fds_take(struct receiving *r, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
         c = CMSG_NXTHDR(m, c)) {
        size_t count;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            fd_take(r, fd);
        }
    }
}

static larder_result receive_all(struct receiving *r, int socket,
                                 unsigned char *at, size_t count)
{
    while (count > 0) {
        union control control;
        struct iovec part = {.iov_base = at, .iov_len = count};
        struct msghdr m = {
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = &control,
            .msg_controllen = sizeof control,
        };
        ssize_t got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return share_socket_refused("receiving memory");
        fds_take(r, &m);
        if (got == 0)
            return larder__fail(LARDER_ERR_SYSTEM,
                                "receiving memory failed: the peer closed the "
                                "socket, %zu bytes are missing",
                                count);
        if (m.msg_flags & MSG_CTRUNC)
            return larder__fail(LARDER_ERR_SYSTEM,
                                "receiving memory failed: this process can "
                                "open no more descriptors");
        if (m.msg_flags & MSG_TRUNC)
            return larder__fail(LARDER_ERR_INVALID,
                                "this is not a message of "
                                "larder_export_send(): a packet is too long");
        at += got;
        count -= (size_t)got;
    }
    return LARDER_OK;
}

larder_result larder__socket_receive(int socket, void *bytes, size_t count,
                                     int *fds, size_t capacity,
                                     size_t *fd_count)
{
    struct receiving got = {.fds = fds, .capacity = capacity};
    larder_result r = receive_all(&got, socket, bytes, count);

    if (r == LARDER_OK && got.has_more)
        r = larder__fail(LARDER_ERR_INVALID,
                         "the message came with more than %zu descriptors",
                         capacity);
    if (r == LARDER_OK)
        *fd_count = got.got;
    else
        larder__fds_close(fds, got.got);
    return r;
}
