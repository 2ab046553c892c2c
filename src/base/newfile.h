/* newfile.h - a file that appears when it is whole.  Private to the library.
 *
 * A regular file is written without a name where the file system has that,
 * else under one that nobody can guess, and takes the wanted one's place in
 * the end, with the mode of what was there, and its owner where that may be
 * given; a link stays, and what it points at is replaced.  What is no regular
 * file is written in its place, and so is a descriptor of this process that the
 * path names (/dev/stdout, /dev/fd/3).  A pipe that nobody reads is an error,
 * not waited for. */
#ifndef LARDER_BASE_NEWFILE_H
#define LARDER_BASE_NEWFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { NEWFILE_PATH_MAX = 4096 };

struct newfile {
    int fd;
    int error;    /* errno of the first failure; 0: none */
    bool beside;  /* to be put in its place */
    bool is_kept; /* there was one before: these are its */
    mode_t mode;
    uid_t owner;
    gid_t group;
    int slot;                     /* of its name, for a signal; -1: none */
    char path[NEWFILE_PATH_MAX];  /* links followed */
    char named[NEWFILE_PATH_MAX]; /* what it is called meanwhile; "": nothing */
};

/* These return false at a failure, and from then on; `error` says which. */
bool larder__newfile_open(struct newfile *f, const char *path);
bool larder__newfile_write(struct newfile *f, const void *bytes, size_t count);

/* Put the file in its place, or, if anything failed or `keep` is false,
 * remove it.  Also after a failed open. */
bool larder__newfile_close(struct newfile *f, bool keep);

/* What failed, in words. */
const char *larder__newfile_words(const struct newfile *f);

#endif
