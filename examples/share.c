/* share.c - one process allocates and fills memory of a GPU, another one maps
 * the same memory and sums it up.
 *
 *   share [DEVICE]
 *
 * DEVICE must make pages that can be exported: cuda:0,export=fd, or a simulated
 * GPU that processes share, which is the default here. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/larder.h>
#include <larder/share.h>

enum { COUNT = 1 << 20 };

static void check(larder_result r, const char *what)
{
    if (r == LARDER_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, larder_last_error());
    exit(1);
}

/* A driver is not used before a fork: each process opens the device itself. */
static larder_device *device_of(const char *spec)
{
    larder_device *dev;

    check(larder_device_open(spec, 0, &dev), spec);
    return dev;
}

static void give(const char *spec, int socket)
{
    larder_device *dev = device_of(spec);
    larder_options opt;
    larder_allocator *a;
    larder_export *e;
    larder_addr addr;
    char done;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    check(larder_create(dev, &opt, &a), "create");
    check(larder_alloc(a, COUNT, 0, &addr), "alloc");
    check(larder_device_fill(dev, addr, 3, COUNT, 0), "fill");
    check(larder_device_stream_sync(dev, 0), "wait"); /* before telling */
    check(larder_export_open(a, addr, &e), "export");
    check(larder_export_send(e, socket), "send");
    if (read(socket, &done, 1) != 1)
        fprintf(stderr, "the other process is gone\n");
    check(larder_export_close(e), "close");
    check(larder_destroy(a), "destroy");
    check(larder_device_close(dev), "close");
}

static void take(const char *spec, int socket)
{
    larder_device *dev = device_of(spec);
    larder_import_info info = {.size = sizeof info};
    unsigned char *host = malloc(COUNT);
    unsigned long sum = 0;
    larder_import *m;

    if (host == NULL)
        exit(1);
    check(larder_import_receive(dev, socket, &m), "receive");
    check(larder_import_get(m, &info), "get");
    check(larder_device_copy(dev, (uint64_t)(uintptr_t)host, info.addr,
                             info.bytes, LARDER_COPY_TO_HOST, 0),
          "copy");
    check(larder_device_stream_sync(dev, 0), "wait");
    for (uint64_t i = 0; i < info.bytes; i++)
        sum += host[i];
    printf("the other process wrote %lu\n", sum);
    check(larder_import_close(m), "close");
    check(larder_device_close(dev), "close");
    if (write(socket, "", 1) != 1)
        fprintf(stderr, "the other process is gone\n");
    free(host);
}

int main(int argc, char **argv)
{
    char spec[128];
    int sockets[2];
    int status;
    pid_t child;

    snprintf(spec, sizeof spec, "sim:1GiB,shared=example-%ld,export=fd",
             (long)getpid());
    if (argc > 1)
        snprintf(spec, sizeof spec, "%s", argv[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 1;
    child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        close(sockets[0]);
        take(spec, sockets[1]);
        return 0;
    }
    close(sockets[1]);
    give(spec, sockets[0]);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
