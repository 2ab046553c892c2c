/* experiment_processes.c - experiment 3, continued: the risk of empty_cache()
 * if another process uses the device. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment_backward.h"
#include "experiment.h"

/* ---- the other process: it holds memory until its socket is closed ---- */

struct neighbour {
    pid_t pid;
    int fd;
};

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

/* It releases everything, and ends. */
static bool neighbour_ends(struct neighbour *n)
{
    close(n->fd);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return true;
}

/* Start one on the device of `spec`, which allocates tensors of 512 MiB until one
 * fails; *bytes is what it then holds. */
static bool neighbour_takes_all(struct exp *e, const char *spec,
                                struct neighbour *out, uint64_t *bytes)
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

/* ---- the experiment ---- */

enum { NEXT = BACKWARD_VARIABLES };

/* The outcome is the question: under other policies it may not fit. */
static bool next_gibibyte(struct exp *e, const char *what)
{
    const int64_t size = (int64_t)(GIB / sizeof(float));
    larder_result r =
        lab_empty(e->session, LAB_FLOAT32, LAB_DEVICE, 1, &size, &e->t[NEXT]);

    if (r != LARDER_OK && r != LARDER_ERR_OUT_OF_MEMORY)
        return exp_try(e, r);
    return exp_yes(e, what, r == LARDER_OK);
}

/* Steps until the cache holds the memory that the backward pass has dropped. */
static bool train_once(struct exp *e)
{
    return backward_x(e) && backward_y(e) && backward_mean(e) &&
           exp_after(e, "x, y, mean(y).backward()", EXP_ALLOCATED, 3 * GIB) &&
           exp_expect(e, EXP_RESERVED, 4 * GIB + 2 * MIB);
}

static bool with_cache(struct exp *e, const char *spec)
{
    struct neighbour other;
    uint64_t theirs = 0;
    bool done;

    if (!exp_heading(e, "Without empty_cache():") || !train_once(e) ||
        !neighbour_takes_all(e, spec, &other, &theirs))
        return false;
    done = exp_step(e, "the other process takes all it can get") &&
           exp_number(e, "the other process gets, beside our cache", EXP_BYTES,
                      1536 * MIB, theirs) &&
           next_gibibyte(e, "our next 1 GiB fits, into the cache") &&
           exp_after(e, "t = empty(1 GiB)", EXP_RESERVED, 4 * GIB + 2 * MIB);
    return neighbour_ends(&other) && done && exp_drop(e, NEXT);
}

static bool without_cache(struct exp *e, const char *spec)
{
    struct neighbour other;
    uint64_t theirs = 0;
    bool done;

    if (!exp_heading(e, "With empty_cache():") || !exp_empty_cache(e) ||
        !exp_after(e, "empty_cache()", EXP_RESERVED, 3 * GIB) ||
        !neighbour_takes_all(e, spec, &other, &theirs))
        return false;
    done = exp_step(e, "the other process takes all it can get") &&
           exp_number(e, "the other process gets, after empty_cache()",
                      EXP_BYTES, 3 * GIB, theirs) &&
           exp_refused(e, "our next request for 1 GiB fails", GIB) &&
           exp_step(e, "t = empty(1 GiB)  # %s", exp_outcome(e)) &&
           exp_drop(e, BACKWARD_Y) &&
           next_gibibyte(e, "with y deleted it fits, into y's memory") &&
           exp_after(e, "del y; t = empty(1 GiB)", EXP_RESERVED, 3 * GIB);
    return neighbour_ends(&other) && done;
}

static bool experiment_processes_run(struct exp *e)
{
    char name[64], spec[EXP_SPEC_MAX];
    const struct exp_device want = {
        .size = "6GiB", .context = "0", .shared = name};
    const struct exp_device theirs = {
        .size = "6GiB", .context = "0", .shared = name, .backing = "none"};

    snprintf(name, sizeof name, "lab%ld", (long)getpid());
    if (!exp_spec(e, &theirs, spec))
        return exp_fail(e, "the device spec is too long");
    return exp_open(e, &want) && with_cache(e, spec) && without_cache(e, spec);
}

const struct experiment experiment_two_processes = {
    .number = 3,
    .name = "two_processes",
    .title = "what empty_cache() risks beside another process",
    .text =
        "Two processes share one device of 6 GiB; the second is a real "
        "process. After a backward pass ours holds 1 GiB that no tensor uses: "
        "it held y's gradient. The next step will need it again.\n\n"
        "First the cache is kept: the other process requests 512 MiB at a time "
        "until a request fails, and our next GiB still fits. Then "
        "empty_cache() is called before the other process makes its requests. "
        "It gets our GiB, and we run out of memory. The error message explains "
        "why, and after y is deleted the session continues.",
    .verdict = "Any process may take what empty_cache() releases. "
               "Our next step, whose memory was in the cache, then "
               "fails; with the cache kept it would have fitted.",
    .run = experiment_processes_run,
};
