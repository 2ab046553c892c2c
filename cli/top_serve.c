/* top_serve.c - the server of `larder top --serve`: one process samples the
 * devices; each connection is answered by a forked child, which inherits the
 * history and exits after the answer.  So a faulty request can only break a
 * child. */
#include "top.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "option.h"

enum {
    CHILDREN_MAX = 64,
    FULL_MS = 20, /* between checks for children that have ended */
    TOKEN_BYTES = (TOP_TOKEN_BYTES - 1) / 2
};

static bool make_token(char out[TOP_TOKEN_BYTES])
{
    unsigned char bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Open a socket that listens on 127.0.0.1; *port is set to its port. */
static int listen_at(unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)*port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, size) == 0 &&
        listen(fd, CHILDREN_MAX) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
        *port = ntohs(at.sin_port);
        return fd;
    }
    close(fd);
    return -1;
}

static void look(struct top_served *s)
{
    struct top_data data;

    top_data_read(&data);
    top_data_arrange(&data, s->settings->order, s->settings->filter);
    top_past_add(&s->past, &data);
    top_data_free(&data);
}

static void reap(unsigned *children)
{
    while (*children > 0 && waitpid(-1, NULL, WNOHANG) > 0)
        (*children)--;
}

/* False: there are no descriptors or processes left, or the client has
 * disconnected. */
static bool accept_one(const struct top_served *s, int listening,
                       unsigned *children)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    pid_t child = fd < 0 ? -1 : fork();

    if (child == 0) {
        close(listening);
        top_answer(s, fd);
        _exit(0);
    }
    if (child > 0)
        (*children)++;
    if (fd >= 0)
        close(fd);
    return child > 0;
}

/* Wait until the next sample or, with too many children, until one may have
 * ended; meanwhile clients wait in the socket's queue. */
static bool somebody_asks(int listening, unsigned children, uint64_t wait_ms)
{
    struct pollfd wait = {.fd = listening, .events = POLLIN};

    if (children < CHILDREN_MAX)
        return poll(&wait, 1, (int)wait_ms) > 0;
    poll(NULL, 0, FULL_MS);
    return false;
}

static void serve(struct top_served *s, int listening)
{
    uint64_t next = clock_ms();
    unsigned children = 0;

    for (;;) {
        uint64_t now = clock_ms();

        if (now >= next) {
            look(s);
            next = now + s->settings->period_ms;
        }
        reap(&children);
        if (somebody_asks(listening, children, next > now ? next - now : 0) &&
            !accept_one(s, listening, &children))
            poll(NULL, 0, FULL_MS);
    }
}

/* Inherited signal settings could leave children uncounted, or silent ones
 * alive. */
static void set_signals(void)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGALRM);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
}

int top_serve_run(const struct top_settings *settings)
{
    static struct top_served served;
    int listening;

    served.port = (unsigned)settings->port;
    served.settings = settings;
    listening = listen_at(&served.port);
    if (listening < 0 || !make_token(served.token))
        return cli_fail("top", "cannot listen on port %u of 127.0.0.1: %s",
                        served.port, strerror(errno));
    set_signals();
    printf("http://127.0.0.1:%u/%s/\n", served.port, served.token);
    fflush(stdout);
    serve(&served, listening);
    return CLI_EXIT_OK;
}
