/* new_file.c - a stream to a file that appears complete or not at all
 * (larder/file.h). */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"

static bool failed(struct new_file *f, const char *why)
{
    snprintf(f->why, sizeof f->why, "%s", why);
    return false;
}

/* The library's message has the path before the reason. */
static bool failed_there(struct new_file *f)
{
    static const char before[] = "cannot be written: ";
    const char *words = larder_last_error();
    const char *at = strstr(words, before);

    return failed(f, at != NULL ? at + sizeof before - 1 : words);
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

static bool new_file_open(struct new_file *f, const char *path)
{
    int fd;

    *f = (struct new_file){.out = NULL};
    heed_signals();
    if (larder_file_create(path, &f->file) != LARDER_OK)
        return failed_there(f);
    fd = fcntl(larder_file_descriptor(f->file), F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        f->out = fdopen(fd, "w");
    if (f->out != NULL)
        return true;
    (void)failed(f, strerror(errno));
    if (fd >= 0)
        close(fd);
    (void)larder_file_close(f->file, 0);
    return false;
}

static bool new_file_close(struct new_file *f, bool ok)
{
    bool written = ferror(f->out) == 0;

    errno = 0;
    written &= fclose(f->out) == 0;
    f->out = NULL;
    if (!written)
        (void)failed(f, strerror(errno != 0 ? errno : EIO));
    if (larder_file_close(f->file, ok && written) != LARDER_OK)
        return failed_there(f);
    return written || !ok;
}

static bool cannot_be_written(const struct output *o)
{
    return cli_complain(o->command, "%s: cannot be written: %s", o->path,
                        o->file.why);
}

bool output_open(struct output *o, const char *command, const char *path)
{
    *o = (struct output){.command = command, .path = path};
    if (path == NULL)
        return true;
    if (strcmp(path, "-") == 0)
        o->out = stdout;
    else if (new_file_open(&o->file, path))
        o->out = o->file.out;
    return o->out != NULL || cannot_be_written(o);
}

bool output_close(struct output *o, bool ok)
{
    return o->out == NULL || o->out == stdout || new_file_close(&o->file, ok) ||
           cannot_be_written(o);
}
