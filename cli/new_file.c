/* new_file.c - a stream to a file that appears complete or not at all
 * (larder/file.h). */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"

static bool failed(const struct output *o, const char *why)
{
    return cli_complain(o->command, "%s: cannot be written: %s", o->path, why);
}

/* The library's message has the path before the reason. */
static bool failed_there(const struct output *o)
{
    static const char before[] = "cannot be written: ";
    const char *words = larder_last_error();
    const char *at = strstr(words, before);

    return failed(o, at != NULL ? at + sizeof before - 1 : words);
}

/* SA_RESETHAND has restored the default action: raise() ends the program. */
static void abandon(int number)
{
    larder_files_abandon();
    raise(number);
}

/* Signals that are ignored stay ignored. */
static void heed_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = abandon,
                               .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;

        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

static bool open_file(struct output *o)
{
    int fd;

    heed_signals();
    if (larder_file_create(o->path, &o->file) != LARDER_OK)
        return failed_there(o);
    fd = fcntl(larder_file_descriptor(o->file), F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        o->out = fdopen(fd, "w");
    if (o->out != NULL)
        return true;
    (void)failed(o, strerror(errno));
    if (fd >= 0)
        close(fd);
    (void)larder_file_close(o->file, 0);
    return false;
}

bool output_open(struct output *o, const char *command, const char *path)
{
    *o = (struct output){.command = command, .path = path};
    if (path == NULL)
        return true;
    if (strcmp(path, "-") != 0)
        return open_file(o);
    o->out = stdout;
    return true;
}

bool output_close(struct output *o, bool ok)
{
    bool written;

    if (o->out == NULL || o->out == stdout)
        return true;
    written = ferror(o->out) == 0;
    errno = 0;
    written &= fclose(o->out) == 0;
    if (ok && !written) {
        (void)failed(o, strerror(errno != 0 ? errno : EIO));
        (void)larder_file_close(o->file, 0);
        return false;
    }
    return larder_file_close(o->file, ok) == LARDER_OK || failed_there(o);
}
