/* fuzz_share.c - any bytes and descriptors as a message on a socket: memory is
 * imported, or refused with a message, and nothing is left behind.
 *
 * The first byte says how many descriptors accompany which part; the rest are
 * the bytes.  A flag in the first byte makes the target correct the header's
 * magic, version, kind and identity, so that the code behind those checks is
 * reached. */
#include <larder/share.h>
#include <larder/sim.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/share/share_message.h"
#include "fuzz.h"

enum { FDS = 3, FABRIC = 0x20, EARLY = 0x40, MARK = 0x80 };

static void header_mend(unsigned char *bytes, size_t size,
                        larder_handle_kind kind)
{
    const struct share_header h = {
        .magic = SHARE_HEADER_MAGIC, .version = SHARE_VERSION, .kind = kind};

    if (size >= sizeof h)
        memcpy(bytes, &h, offsetof(struct share_header, bytes));
}

/* Sends `count` descriptors with the bytes. */
static void part_send(int socket, unsigned char *bytes, size_t size, int fd,
                      size_t count)
{
    int fds[FDS] = {fd, fd, fd};
    char control[CMSG_SPACE(sizeof fds)] = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *c;

    if (count > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(count * sizeof fd);
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof fd);
        memcpy(CMSG_DATA(c), fds, count * sizeof fd);
    }
    if (size > 0)
        (void)!sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[4096];
    size_t first;
    static larder_device *dev;
    larder_sim_usage usage = {.size = sizeof usage};
    larder_import *m = NULL;
    int sockets[2];
    int lowest;
    int fd;
    unsigned how;

    if (size < 1 || size > sizeof bytes)
        return 0;
    how = data[0];
    memcpy(bytes, data + 1, --size);
    if (how & MARK)
        header_mend(bytes, size,
                    how & FABRIC ? LARDER_HANDLE_FABRIC : LARDER_HANDLE_FD);
    first =
        size < sizeof(struct share_header) ? size : sizeof(struct share_header);
    REQUIRE(dev != NULL ||
            larder_device_open("sim:64MiB", 0, &dev) == LARDER_OK);
    lowest = dup(STDERR_FILENO);
    close(lowest);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    part_send(sockets[0], bytes, first, fd, (how & EARLY) != 0);
    part_send(sockets[0], bytes + first, size - first, fd, how % (FDS + 1));
    close(sockets[0]);
    REQUIRE(larder_import_receive(dev, sockets[1], &m) != LARDER_OK);
    REQUIRE(m == NULL && larder_last_error()[0] != '\0');
    close(sockets[1]);
    close(fd);
    fd = dup(STDERR_FILENO); /* none was left open */
    REQUIRE(fd == lowest);
    close(fd);
    REQUIRE(larder_sim_get_usage(dev, &usage) == LARDER_OK);
    REQUIRE(usage.pages == 0 && usage.mappings == 0 && usage.reservations == 0);
    return 0;
}
