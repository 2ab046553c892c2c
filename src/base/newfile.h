/* newfile.h - a file that appears when it is whole.  Private to the library.
 *
 * What is written goes to a new file beside the wanted one, which takes its
 * place in the end.  A path that names something other than a file, such as a
 * pipe, is written to as it is. */
#ifndef LARDER_BASE_NEWFILE_H
#define LARDER_BASE_NEWFILE_H

#include <stdbool.h>
#include <stddef.h>

enum { NEWFILE_PATH_MAX = 4096 };

struct newfile {
    const char *path;
    int fd;
    int error; /* errno of the first failure; 0: none */
    bool beside;
    char beside_path[NEWFILE_PATH_MAX];
};

/* These return false at a failure, and from then on; `error` says which. */
bool larder__newfile_open(struct newfile *f, const char *path);
bool larder__newfile_write(struct newfile *f, const void *bytes, size_t count);

/* Put the file in its place, or, if anything failed or `keep` is false,
 * remove it.  Also after a failed open. */
bool larder__newfile_close(struct newfile *f, bool keep);

#endif
