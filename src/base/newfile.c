#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_TRIED = 100, FILE_MODE = 0666 };

static bool newfile_fail(struct newfile *f, int error)
{
    if (f->error == 0)
        f->error = error;
    return false;
}

static bool open_beside(struct newfile *f)
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        int n = snprintf(f->beside_path, sizeof f->beside_path,
                         "%s.%ld-%d.part", f->path, (long)getpid(), i);

        if (n < 0 || n >= (int)sizeof f->beside_path)
            return newfile_fail(f, ENAMETOOLONG);
        f->fd = open(f->beside_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                     FILE_MODE);
        if (f->fd >= 0) {
            f->beside = true;
            return true;
        }
        if (errno != EEXIST)
            return newfile_fail(f, errno);
    }
    return newfile_fail(f, EEXIST);
}

bool larder__newfile_open(struct newfile *f, const char *path)
{
    struct stat there;

    f->path = path;
    f->fd = -1;
    f->error = 0;
    f->beside = false;
    if (stat(path, &there) != 0 || S_ISREG(there.st_mode))
        return open_beside(f);
    f->fd = open(path, O_WRONLY | O_CLOEXEC);
    return f->fd >= 0 || newfile_fail(f, errno);
}

bool larder__newfile_write(struct newfile *f, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    while (f->error == 0 && count > 0) {
        ssize_t n = write(f->fd, at, count);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return newfile_fail(f, errno);
        at += n;
        count -= (size_t)n;
    }
    return f->error == 0;
}

bool larder__newfile_close(struct newfile *f, bool keep)
{
    if (f->fd >= 0 && close(f->fd) != 0)
        (void)newfile_fail(f, errno);
    if (f->beside && keep && f->error == 0 &&
        rename(f->beside_path, f->path) != 0)
        (void)newfile_fail(f, errno);
    if (f->beside && (!keep || f->error != 0))
        (void)unlink(f->beside_path);
    f->fd = -1;
    f->beside = false;
    return f->error == 0;
}
