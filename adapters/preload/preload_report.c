/* preload_report.c - reports written when the program ends, or at a signal. */
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_PATH_MAX = 4096, REPORT_LINE_MAX = 1024 };

/* ---- paths ---------------------------------------------------------------------- */

/* Expand %p to the process and %d to the device.  Without %d, a device other
 * than 0 is inserted before the suffix. */
static bool path_make(const char *pattern, int device, char *out, size_t room)
{
    const char *suffix = strrchr(pattern, '.');
    bool has_place = strstr(pattern, "%d") != NULL || device == 0;
    size_t n = 0;

    if (suffix == NULL || strchr(suffix, '/') != NULL)
        suffix = pattern + strlen(pattern);
    for (const char *c = pattern;; c++) {
        int length = 0;

        if (c == suffix && !has_place)
            length = snprintf(out + n, room - n, ".%d", device);
        if (length < 0 || (n += (size_t)length) + 16 > room)
            return false;
        if (*c == '\0')
            break;
        if (c[0] == '%' && (c[1] == 'p' || c[1] == 'd'))
            n += (size_t)snprintf(out + n, room - n, "%ld",
                                  *++c == 'p' ? (long)getpid() : (long)device);
        else
            out[n++] = *c;
    }
    out[n] = '\0';
    return true;
}

/* ---- statistics -------------------------------------------------------------------- */

static const char *mode_name(void)
{
    return preload_settings_get()->mode == PRELOAD_CACHE ? "cache" : "limit";
}

static int line_json(char *out, size_t room, int device,
                     const larder_preload_stats *s)
{
    const char *call = preload_work_shared_by();
    char limit[32] = "null";

    if (s->limit_bytes != PRELOAD_UNLIMITED)
        snprintf(limit, sizeof limit, "%" PRIu64, s->limit_bytes);
    return snprintf(
        out, room,
        "{\"pid\":%ld,\"device\":%d,\"mode\":\"%s\",\"limit_bytes\":%s,"
        "\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"passed\":%" PRIu64
        ",\"refused\":%" PRIu64 ",\"driver_allocs\":%" PRIu64
        ",\"driver_frees\":%" PRIu64 ",\"waits\":%" PRIu64
        ",\"live_bytes\":%" PRIu64 ",\"live_bytes_peak\":%" PRIu64
        ",\"held_bytes\":%" PRIu64 ",\"held_bytes_peak\":%" PRIu64
        ",\"outside_bytes\":%" PRIu64 ",\"moves\":%" PRIu64
        ",\"moves_ended_by\":%s%s%s}\n",
        (long)getpid(), device, mode_name(), limit, s->allocations, s->frees,
        s->passed, s->refused, s->driver_allocs, s->driver_frees, s->waits,
        s->live_bytes, s->live_bytes_peak, s->held_bytes, s->held_bytes_peak,
        s->outside_bytes, s->moves, call == NULL ? "" : "\"",
        call == NULL ? "null" : call, call == NULL ? "" : "\"");
}

#define MIB(bytes) ((double)(bytes) / (1 << 20))

static void ending_text(char *out, size_t room)
{
    const char *call = preload_work_shared_by();

    out[0] = '\0';
    if (call != NULL && preload_settings_get()->can_migrate)
        snprintf(out, room, "; no moves since %s was called", call);
}

static int line_text(char *out, size_t room, int device,
                     const larder_preload_stats *s)
{
    char ending[128];

    ending_text(ending, sizeof ending);
    return snprintf(
        out, room,
        "Larder, GPU %d (%s): %" PRIu64 " allocations and %" PRIu64
        " frees by %" PRIu64 " and %" PRIu64 " of the driver, %" PRIu64
        " waits; at most %.1f MiB in use, "
        "%.1f MiB held; %" PRIu64 " passed on, %" PRIu64 " refused%s\n",
        device, mode_name(), s->allocations, s->frees, s->driver_allocs,
        s->driver_frees, s->waits, MIB(s->live_bytes_peak),
        MIB(s->held_bytes_peak), s->passed, s->refused, ending);
}

/* Several processes may append: write each line with one call. */
static void line_append(int fd, int device, bool is_text)
{
    larder_preload_stats s = {.size = sizeof s};
    char line[REPORT_LINE_MAX];
    int length;

    if (larder_preload_stats_get(device, &s) != LARDER_OK ||
        s.allocations + s.passed + s.refused == 0)
        return;
    length = is_text ? line_text(line, sizeof line, device, &s)
                     : line_json(line, sizeof line, device, &s);
    if (length <= 0 || (size_t)length >= sizeof line)
        return;
    if (write(fd, line, (size_t)length) != length)
        dprintf(STDERR_FILENO,
                "liblarder_preload: statistics cannot be written: %s\n",
                strerror(errno));
}

static void write_stats(const char *pattern)
{
    bool is_text = strcmp(pattern, "-") == 0;
    char path[REPORT_PATH_MAX];
    int fd = STDERR_FILENO;

    if (!is_text) {
        if (!path_make(pattern, 0, path, sizeof path))
            return;
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
    if (fd < 0) {
        dprintf(STDERR_FILENO, "liblarder_preload: %s: %s\n", path,
                strerror(errno));
        return;
    }
    for (int i = 0; i < PRELOAD_DEVICES; i++)
        line_append(fd, i, is_text);
    if (!is_text)
        close(fd);
}

/* ---- snapshots ----------------------------------------------------------------------- */

static void write_snapshots(const char *pattern)
{
    char path[REPORT_PATH_MAX];

    for (int i = 0; i < PRELOAD_DEVICES; i++) {
        if (!atomic_load(&preload_slot_at(i)->is_open) ||
            !path_make(pattern, i, path, sizeof path))
            continue;
        if (larder_preload_snapshot(i, path) != LARDER_OK)
            dprintf(STDERR_FILENO, "liblarder_preload: %s: %s\n", path,
                    larder_preload_last_error());
    }
}

/* A signal handler may do almost nothing: it wakes a thread. */
static sem_t asked;

static void on_signal(int number)
{
    int error = errno;

    (void)number;
    sem_post(&asked);
    errno = error;
}

static void *serve_signals(void *ctx)
{
    (void)ctx;
    for (;;) {
        if (sem_wait(&asked) == 0)
            write_snapshots(preload_settings_get()->snapshot);
    }
    return NULL;
}

static void watch_signal(int number)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (sem_init(&asked, 0, 0) != 0 ||
        !preload_thread_start(serve_signals, NULL) ||
        sigaction(number, &action, NULL) != 0)
        dprintf(STDERR_FILENO,
                "liblarder_preload: signals cannot be handled: %s\n",
                strerror(errno));
}

/* ---- begin and end -------------------------------------------------------------------- */

static atomic_bool is_started;

void preload_report_start(int number)
{
    (void)preload_slot_at(0); /* records this process */
    if (number != 0)
        watch_signal(number);
    atomic_store(&is_started, true);
}

__attribute__((destructor)) static void report_end(void)
{
    const struct preload_settings *s;

    if (!atomic_load(&is_started) || preload_is_child())
        return;
    s = preload_settings_get();
    if (s->stats != NULL)
        write_stats(s->stats);
    if (s->snapshot != NULL)
        write_snapshots(s->snapshot);
}
