/* new_file.h - output that appears whole or not at all: it is written beside
 * its place under another name, and takes the place when it is complete.
 * Devices and pipes are written to as they are. */
#ifndef LARDER_CLI_NEW_FILE_H
#define LARDER_CLI_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct new_file {
    const char *path;
    char part[PATH_MAX];
    FILE *out;
};

/* False: it cannot be made, errno says why. */
bool new_file_open(struct new_file *f, const char *path);

/* Close it, and put it in its place if `ok`; else, or if that fails (false,
 * errno says why), nothing is left of it. */
bool new_file_close(struct new_file *f, bool ok);

#endif
