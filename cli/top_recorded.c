/* top_recorded.c - finds programs that are being recorded, and makes the page
 * of a recording. */
#include "top.h"

#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "snapshot/plain_text.h"
#include "snapshot_input.h"
#include "view/view.h"

enum {
    NAME_MAX_BYTES = 80,
    LINE_MAX_BYTES = 512,
    PIECE = 1 << 16,
    PATIENCE_S = 30
};

/* The limit for data from a peer that is not what it claims to be. */
#define SNAPSHOT_MAX ((size_t)1 << 30)

/* ---- recorded processes ------------------------------------------------- */

/* The words of the process's command line, paths without their folders,
 * truncated to fit. */
static void words_of(int64_t pid, char out[NAME_MAX_BYTES])
{
    char path[NAME_MAX_BYTES];
    char words[LINE_MAX_BYTES] = "";
    size_t size = 0;
    int length = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/cmdline", pid);
    f = fopen(path, "re");
    if (f != NULL) {
        size = fread(words, 1, sizeof words - 1, f);
        fclose(f);
    }
    out[0] = '\0';
    for (const char *word = words; word < words + size;
         word += strlen(word) + 1) {
        const char *slash = strrchr(word, '/');

        length +=
            snprintf(out + length, NAME_MAX_BYTES - (size_t)length, "%s%s",
                     length > 0 ? " " : "", slash != NULL ? slash + 1 : word);
        if (length >= NAME_MAX_BYTES)
            break;
    }
    plain_text(out);
}

/* A socket's name up to the number of the process. */
static void name_before(char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "larder-live-%u-", (unsigned)getuid());
}

/* Any user can take a name, so the process must belong to this user. */
static bool is_own_process(int64_t pid)
{
    char path[NAME_MAX_BYTES];
    struct stat at;

    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    return stat(path, &at) == 0 && at.st_uid == getuid();
}

/* The process of a line of /proc/net/unix: a socket that listens under our
 * name; -1: another. */
static int64_t pid_of(const char *line)
{
    char name[NAME_MAX_BYTES];
    const char *at;
    int64_t pid;
    int end = -1;

    name_before(name);
    at = strstr(line, name);
    if (at == NULL || at == line || at[-1] != '@' ||
        sscanf(at + strlen(name), "%" SCNd64 "%n", &pid, &end) != 1 ||
        at[strlen(name) + (size_t)end] != '\n')
        return -1;
    /* A connection that has not been accepted yet has the same name. */
    return strstr(line, " 00010000 ") != NULL && is_own_process(pid) ? pid : -1;
}

void top_recorded_print(FILE *out)
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[LINE_MAX_BYTES];
    const char *comma = "";

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        int64_t pid = pid_of(line);
        char name[NAME_MAX_BYTES];
        json_t *o;

        if (pid < 0)
            continue;
        words_of(pid, name);
        o = json_pack("{sI ss}", "pid", (json_int_t)pid, "name", name);
        fputs(comma, out);
        json_dumpf(o, out, JSON_COMPACT | JSON_ENSURE_ASCII);
        json_decref(o);
        comma = ",";
    }
    if (f != NULL)
        fclose(f);
}

/* ---- the recording ------------------------------------------------------ */

/* The peer must be this user, too. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == getuid();
}

static int connect_to(int64_t pid)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char name[NAME_MAX_BYTES];
    socklen_t size;

    if (fd < 0)
        return -1;
    name_before(name);
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
           (socklen_t)snprintf(at.sun_path + 1, sizeof at.sun_path - 1,
                               "%s%" PRId64, name, pid);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* If a program does not answer, its queue is full and connect() blocks. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&at, size) == 0 && is_ours(fd))
        return fd;
    close(fd);
    return -1;
}

/* Read everything until the other end closes. */
static bool copy(int from, FILE *to)
{
    static char piece[PIECE];
    size_t total = 0;
    ssize_t n;

    while ((n = read(from, piece, sizeof piece)) > 0) {
        total += (size_t)n;
        if (total > SNAPSHOT_MAX ||
            fwrite(piece, 1, (size_t)n, to) != (size_t)n)
            return false;
    }
    return n == 0 && total > 0;
}

static bool view(const void *bytes, size_t size, int64_t pid, FILE *out,
                 struct tool_error *error)
{
    char name[NAME_MAX_BYTES];
    char title[2 * NAME_MAX_BYTES];
    struct snapshot *snapshot = NULL;
    bool ok;

    words_of(pid, name);
    snprintf(title, sizeof title, "%s %" PRId64, name, pid);
    ok = snapshot_input_read_memory(bytes, size, title, &snapshot, error);
    if (ok) {
        const struct view_run run = {.name = title, .snapshot = snapshot};

        ok = view_write(out, title, &run, 1, NULL, error);
    }
    snapshot_free(snapshot);
    return ok;
}

bool top_recorded_view(int64_t pid, FILE *out, struct tool_error *error)
{
    int fd = connect_to(pid);
    char *bytes = NULL;
    size_t size;
    FILE *memory;
    bool ok;

    if (fd < 0)
        return tool_fail(error, "the process no longer records");
    memory = open_memstream(&bytes, &size);
    ok = memory != NULL && copy(fd, memory);
    ok = memory != NULL && fclose(memory) == 0 && ok;
    close(fd);
    ok = ok ? view(bytes, size, pid, out, error)
            : tool_fail(error, "the process has recorded nothing yet, or did "
                               "not answer");
    free(bytes);
    return ok;
}
