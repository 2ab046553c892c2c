#include "new_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device or a pipe is written to, not replaced. */
static bool is_special(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

bool new_file_open(struct new_file *f, const char *path)
{
    int n =
        snprintf(f->part, sizeof f->part, "%s.%ld.part", path, (long)getpid());

    f->path = path;
    f->out = NULL;
    if (n < 0 || (size_t)n >= sizeof f->part) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (is_special(path))
        f->part[0] = '\0';
    f->out = fopen(f->part[0] != '\0' ? f->part : path, "we");
    return f->out != NULL;
}

bool new_file_close(struct new_file *f, bool ok)
{
    bool written = ferror(f->out) == 0;
    int why;

    written &= fclose(f->out) == 0;
    f->out = NULL;
    if (f->part[0] == '\0')
        return written || !ok;
    if (ok && written && rename(f->part, f->path) == 0)
        return true;
    why = errno;
    unlink(f->part);
    errno = why;
    return !ok;
}
