/* own_folder.h - the folder of the running command, near which its files are
 * found. */
#ifndef LARDER_CLI_OWN_FOLDER_H
#define LARDER_CLI_OWN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* The folder of the running command.  False: it is unknown. */
bool cli_own_folder(char out[PATH_MAX]);

#endif
