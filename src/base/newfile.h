/* newfile.h - writes a file that appears only when it is complete.  Private to
 * the library.
 *
 * A regular file is written without a name where the file system supports it,
 * otherwise under a random name, and finally renamed to its place, with the
 * mode of the old file and, if permitted, its owner.  If the path is a link,
 * the file it points to is replaced and the link stays.  Anything that is not a
 * regular file is written directly, and so is a descriptor of this process that
 * the path names (/dev/stdout, /dev/fd/3).  A pipe without a reader is an
 * error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { NEWFILE_PATH_MAX = 4096 };

struct newfile {
    int fd;
    int error;    /* errno of the first failure; 0: none */
    bool beside;  /* to be renamed to its place */
    bool is_kept; /* these are of the file that it replaces */
    mode_t mode;
    uid_t owner;
    gid_t group;
    int slot;                     /* of its name, for signals; -1: none */
    char path[NEWFILE_PATH_MAX];  /* links followed */
    char named[NEWFILE_PATH_MAX]; /* temporary name; "": none */
};

/* These return false on failure and from then on; `error` has the first. */
bool larder__newfile_open(struct newfile *f, const char *path);
bool larder__newfile_write(struct newfile *f, const void *bytes, size_t count);

/* Rename the file to its place or, if anything failed or `keep` is false,
 * remove it.  Call it after a failed open too. */
bool larder__newfile_close(struct newfile *f, bool keep);

/* What failed, as a message. */
const char *larder__newfile_words(const struct newfile *f);
