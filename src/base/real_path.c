/* real_path.c - resolves a path for writing. */
#include "base/real_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* The number that the text consists of; otherwise -1. */
static int real_path_number_of(const char *text)
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
    *fd = holds_descriptors(real) ? real_path_number_of(name) : -1;
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

bool larder__real_path(const char *path, char *out, size_t room, int *fd)
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
