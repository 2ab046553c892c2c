/* same_file.h - whether two paths refer to the same file. */
#ifndef LARDER_CLI_SAME_FILE_H
#define LARDER_CLI_SAME_FILE_H

#include <stdbool.h>

/* Whether both name the same existing file.  `-` and special files, which are
 * not replaced by writing, count as different. */
bool same_file(const char *a, const char *b);

#endif
