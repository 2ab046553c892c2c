/* exec_place.h - where the stand-in for the driver, the runtime and the preload
 * library are, and putting them first in the loader's paths. */
#ifndef LARDER_CLI_EXEC_PLACE_H
#define LARDER_CLI_EXEC_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* The folder that holds libcuda.so.1 of ours: LARDER_FAKECUDA_DIR, or beside
 * the command.  False: there is none; said on the standard error. */
bool exec_find_folder(char out[PATH_MAX]);

/* The folder that holds our runtime and what stands in for libraries of CUDA:
 * LARDER_CUDART_DIR, or beside the command.  False: there is none, and nothing
 * is said, as programs of the driver need none; but of a wrong setting. */
bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong);

/* Let the loader lay that folder over other ones, where it can.  False: no host
 * memory. */
bool exec_set_runtime(const char *folder);

/* liblarder_preload.so: LARDER_PRELOAD_LIBRARY, or beside the command.  False:
 * as above. */
bool exec_find_preload(char out[PATH_MAX]);

/* Let the loader take the library first; the path may be changed.  False: no
 * host memory. */
bool exec_set_preload(char library[PATH_MAX]);

/* In front of what LD_LIBRARY_PATH, or LD_PRELOAD, names.  False: no host
 * memory. */
bool exec_set_path(const char *variable, const char *first);

#endif
