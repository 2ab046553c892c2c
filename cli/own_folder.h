/* own_folder.h - where the command lies: what comes with it is found from
 * there. */
#ifndef LARDER_CLI_OWN_FOLDER_H
#define LARDER_CLI_OWN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* The folder that the running command lies in; false if nobody can tell. */
bool cli_own_folder(char out[PATH_MAX]);

#endif
