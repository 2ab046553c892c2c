/* exec_place.h - finds the simulated driver, the runtime and the preload
 * library, and puts them first in the loader's paths. */
#ifndef LARDER_CLI_EXEC_PLACE_H
#define LARDER_CLI_EXEC_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* The folder of our libcuda.so.1: LARDER_FAKECUDA_DIR, or near the command.
 * False: there is none, which is reported on the standard error. */
bool exec_find_folder(char out[PATH_MAX]);

/* The folder of our runtime and the stand-ins for CUDA's libraries:
 * LARDER_CUDART_DIR, or near the command.  False: there is none.  That is not
 * reported, because programs that use only the driver do not need it, unless
 * the setting is wrong. */
bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong);

/* Make the loader prefer that folder, if it can.  False: no host memory. */
bool exec_set_runtime(const char *folder);

/* liblarder_preload.so: LARDER_PRELOAD_LIBRARY, or near the command.  False: as
 * above. */
bool exec_find_preload(char out[PATH_MAX]);

/* Make the loader load the library first; the path may be modified.  False: no
 * host memory. */
bool exec_set_preload(char library[PATH_MAX]);

#endif
