/* newfile.c - writes a file that appears only when it is complete. */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <larder/file.h>

/* Set-ID bits are not copied: they were meant for the old contents. */
enum { NAMES_TRIED = 100, FILE_MODE = 0666, MODE_BITS = 0777 };

static bool newfile_fail(struct newfile *f, int error)
{
    if (f->error == 0)
        f->error = error;
    return false;
}

/* ---- the path ---------------------------------------------------------------- */

enum { LINKS_MAX = 40 };

/* The number that the text consists of; otherwise -1. */
static int number_of(const char *text)
{
    char *end;
    long n;

    if (*text < '0' || *text > '9')
        return -1;
    n = strtol(text, &end, 10);
    return *end == '\0' && n <= INT_MAX ? (int)n : -1;
}

/* Whether the folder, with links resolved, is this process's descriptor
 * folder. */
static bool holds_descriptors(const char *folder)
{
    char own[64];
    size_t length;

    length = (size_t)snprintf(own, sizeof own, "/proc/%ld/", (long)getpid());
    if (strncmp(folder, own, length) != 0)
        return false;
    folder += length;
    if (strncmp(folder, "task/", 5) == 0) {
        folder += 5 + strspn(folder + 5, "0123456789");
        folder += *folder == '/';
    }
    return strcmp(folder, "fd") == 0;
}

/* out = the folder of `path`, with links resolved, and `name`. */
static bool join_real(const char *path, const char *name, char *out,
                      size_t room, int *fd)
{
    char folder[PATH_MAX];
    char real[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);

    if (n < 0 || n >= (int)sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (realpath(n == 0 ? "." : folder, real) == NULL)
        return false;
    *fd = holds_descriptors(real) ? number_of(name) : -1;
    n = snprintf(out, room, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    if (n >= 0 && n < (int)room)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* In a sticky folder, where everybody may create files and remove only their
 * own, a link of another user could lead anywhere.  As Linux does under
 * fs.protected_symlinks, only links of this user or of the folder's owner are
 * followed.  This is checked after the link was read: a user who may not create
 * it there cannot have replaced it since. */
static bool may_follow(const char *link)
{
    char folder[PATH_MAX];
    struct stat of_folder;
    struct stat of_link;

    memcpy(folder, link, strlen(link) + 1);
    strrchr(folder, '/')[1] = '\0';
    if (stat(folder, &of_folder) != 0 || lstat(link, &of_link) != 0)
        return false;
    if ((of_folder.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
        of_link.st_uid == geteuid() || of_link.st_uid == of_folder.st_uid)
        return true;
    errno = EACCES;
    return false;
}

/* Resolve the target of the link at `out`, relative to it unless absolute. */
static bool follow(char *out, const char *target, size_t room)
{
    char *name = strrchr(out, '/') + 1;
    size_t before = target[0] == '/' ? 0 : (size_t)(name - out);
    int n = snprintf(out + before, room - before, "%s", target);

    if (n >= 0 && n < (int)(room - before))
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Resolve the links of `path` into out, of `room` bytes, including the last
 * one, even if nothing exists there. *fd is the descriptor of this process that
 * it names, otherwise -1.  False: errno says why; EACCES if another user could
 * have planted a link on the way. */
static bool real_path(const char *path, char *out, size_t room, int *fd)
{
    char at[PATH_MAX];
    char target[PATH_MAX];

    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (int links = 0; links < LINKS_MAX; links++) {
        const char *slash = strrchr(at, '/');
        ssize_t n;

        if (!join_real(at, slash == NULL ? at : slash + 1, out, room, fd))
            return false;
        if (*fd >= 0)
            return true;
        n = readlink(out, target, sizeof target - 1);
        if (n < 0) /* no link, or nothing: opening reports it */
            return true;
        target[n] = '\0';
        if (!may_follow(out))
            return false;
        memcpy(at, out, strlen(out) + 1);
        if (!follow(at, target, sizeof at))
            return false;
    }
    errno = ELOOP;
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
    if (!real_path(path, f->path, sizeof f->path, &fd))
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
