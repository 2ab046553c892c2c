/* newfile.c - writes a file that appears only when it is complete. */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <larder/file.h>

#include "base/real_path.h"

/* Set-ID bits are not copied: they were meant for the old contents. */
enum { NAMES_TRIED = 100, FILE_MODE = 0666, MODE_BITS = 0777 };

static bool newfile_fail(struct newfile *f, int error)
{
    if (f->error == 0)
        f->error = error;
    return false;
}

/* ---- temporary names -------------------------------------------------------- */

/* Names of unfinished files, for larder_files_abandon(). */
enum { SLOTS = 64 };
static _Atomic(const char *) slots[SLOTS];

static void slot_take(struct newfile *f)
{
    for (int i = 0; i < SLOTS; i++) {
        const char *none = NULL;

        if (atomic_compare_exchange_strong(&slots[i], &none, f->named)) {
            f->slot = i;
            return;
        }
    }
}

static void slot_leave(struct newfile *f)
{
    if (f->slot >= 0)
        atomic_store(&slots[f->slot], NULL);
    f->slot = -1;
}

void larder_files_abandon(void)
{
    for (int i = 0; i < SLOTS; i++) {
        const char *named = atomic_exchange(&slots[i], NULL);

        if (named != NULL)
            (void)unlink(named);
    }
}

static bool random_name(struct newfile *f)
{
    uint64_t number;
    int n;

    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return newfile_fail(f, errno);
    n = snprintf(f->named, sizeof f->named, "%s.%016llx.part", f->path,
                 (unsigned long long)number);
    if (n < 0 || n >= (int)sizeof f->named) {
        f->named[0] = '\0';
        return newfile_fail(f, ENAMETOOLONG);
    }
    return true;
}

/* Let `make` create the file under an unused random name. */
static bool name_it(struct newfile *f, bool (*make)(struct newfile *))
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        if (!random_name(f))
            return false;
        slot_take(f); /* before it exists: a signal may come between */
        if (make(f))
            return true;
        slot_leave(f);
        f->named[0] = '\0';
        if (errno != EEXIST)
            return newfile_fail(f, errno);
    }
    return newfile_fail(f, EEXIST);
}

/* ---- opening ---------------------------------------------------------------- */

static bool make_named(struct newfile *f)
{
    f->fd = open(f->named, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 FILE_MODE);
    return f->fd >= 0;
}

static void path_of_fd(const struct newfile *f, char out[64])
{
    snprintf(out, 64, "/proc/self/fd/%d", f->fd);
}

/* Open a file without a name, which is gone if this process ends.  False: it
 * could not be named later. */
static bool open_nameless(struct newfile *f)
{
    char folder[NEWFILE_PATH_MAX];
    char self[64];
    struct stat st;

    memcpy(folder, f->path, sizeof folder);
    strrchr(folder, '/')[1] = '\0';
    f->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
    if (f->fd < 0)
        return false;
    path_of_fd(f, self);
    if (lstat(self, &st) == 0)
        return true;
    close(f->fd);
    f->fd = -1;
    return false;
}

static bool open_beside(struct newfile *f)
{
    f->beside = open_nameless(f) || name_it(f, make_named);
    return f->beside;
}

/* Non-blocking, because opening a pipe without a reader would wait silently.  A
 * link found now was made after links were followed, so it is not followed. */
static bool open_special(struct newfile *f)
{
    f->fd = open(f->path,
                 O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
    if (f->fd < 0)
        return newfile_fail(f, errno);
    if (fcntl(f->fd, F_SETFL, O_WRONLY) != 0)
        return newfile_fail(f, errno);
    return true;
}

static bool open_descriptor(struct newfile *f, int fd)
{
    f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return f->fd >= 0 || newfile_fail(f, errno);
}

bool larder__newfile_open(struct newfile *f, const char *path)
{
    struct stat there;
    int fd;

    *f = (struct newfile){.fd = -1, .slot = -1};
    if (!larder__real_path(path, f->path, sizeof f->path, &fd))
        return newfile_fail(f, errno);
    if (fd >= 0)
        return open_descriptor(f, fd);
    if (lstat(f->path, &there) != 0)
        return errno == ENOENT ? open_beside(f) : newfile_fail(f, errno);
    if (!S_ISREG(there.st_mode))
        return open_special(f);
    if (faccessat(AT_FDCWD, f->path, W_OK, AT_EACCESS) != 0)
        return newfile_fail(f, errno);
    f->is_kept = true;
    f->mode = there.st_mode & MODE_BITS;
    f->owner = there.st_uid;
    f->group = there.st_gid;
    return open_beside(f);
}

/* ---- writing ---------------------------------------------------------------- */

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

/* ---- finishing -------------------------------------------------------------- */

static bool link_named(struct newfile *f)
{
    char self[64];

    path_of_fd(f, self);
    return linkat(AT_FDCWD, self, AT_FDCWD, f->named, AT_SYMLINK_FOLLOW) == 0;
}

/* Copy mode and ownership of the old file.  Only root can keep its owner, and
 * only members its group; otherwise the file is still written. */
static bool keep_rights(const struct newfile *f)
{
    if (!f->is_kept)
        return true;
    if (fchown(f->fd, f->owner, f->group) != 0)
        (void)!fchown(f->fd, (uid_t)-1, f->group);
    return fchmod(f->fd, f->mode) == 0;
}

/* Block signals while the file has a temporary name. */
static bool put_in_place(struct newfile *f)
{
    sigset_t all;
    sigset_t before;
    bool done;

    if (!keep_rights(f))
        return newfile_fail(f, errno);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    done = f->named[0] != '\0' || name_it(f, link_named);
    if (done && rename(f->named, f->path) != 0)
        done = newfile_fail(f, errno);
    if (done)
        f->named[0] = '\0';
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

bool larder__newfile_close(struct newfile *f, bool keep)
{
    if (f->beside && keep && f->error == 0)
        (void)put_in_place(f);
    if (f->named[0] != '\0')
        (void)unlink(f->named);
    slot_leave(f);
    if (f->fd >= 0 && close(f->fd) != 0)
        (void)newfile_fail(f, errno);
    f->fd = -1;
    f->beside = false;
    return f->error == 0;
}

const char *larder__newfile_words(const struct newfile *f)
{
    return f->error == ENXIO ? "nobody reads this pipe" : strerror(f->error);
}
