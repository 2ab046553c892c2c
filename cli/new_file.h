/* new_file.h - a stream to a file that appears complete or not at all
 * (larder/file.h).  A signal that ends the command leaves nothing behind. */
#ifndef LARDER_CLI_NEW_FILE_H
#define LARDER_CLI_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <larder/file.h>

struct new_file {
    larder_file *file;
    FILE *out;
    char why[256]; /* after a failure: the reason, without the path */
};

/* False: it cannot be created. */
bool new_file_open(struct new_file *f, const char *path);

/* Close the file, and rename it to its place if `ok`.  Otherwise, or if that
 * fails (false), it is removed. */
bool new_file_close(struct new_file *f, bool ok);

#endif
