/* exec_place.h - where the stand-in for the driver is, and putting it first in
 * the loader's path. */
#ifndef LARDER_CLI_EXEC_PLACE_H
#define LARDER_CLI_EXEC_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* The folder that holds libcuda.so.1 of ours: LARDER_FAKECUDA_DIR, or beside
 * the command.  False: there is none; said on the standard error. */
bool exec_find_folder(char out[PATH_MAX]);

/* In front of what LD_LIBRARY_PATH names.  False: no host memory. */
bool exec_set_path(const char *folder);

#endif
