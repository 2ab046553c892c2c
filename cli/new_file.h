/* new_file.h - output that appears whole or not at all (larder/file.h), as a
 * stream.  A signal that ends the command leaves nothing of it. */
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

/* False: it cannot be made. */
bool new_file_open(struct new_file *f, const char *path);

/* Close it, and put it in its place if `ok`; else, or if that fails (false),
 * nothing is left of it. */
bool new_file_close(struct new_file *f, bool ok);

#endif
