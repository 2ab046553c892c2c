/* new_file.h - a stream to a file that appears complete or not at all
 * (larder/file.h).  A signal that ends the command leaves nothing behind. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <larder/file.h>

/* What a command writes to a path that it was given; failures are reported as
 * the command's. */
struct output {
    const char *command;
    const char *path;
    larder_file *file;
    FILE *out; /* NULL: nothing is written */
};

/* `-` is the standard output, which main() closes and checks; without a path
 * there is nothing to write.  False: it cannot be created. */
bool output_open(struct output *o, const char *command, const char *path);

/* Close the file, and rename it to its place if `ok`.  Otherwise, or if that
 * fails (false), it is removed. */
bool output_close(struct output *o, bool ok);
