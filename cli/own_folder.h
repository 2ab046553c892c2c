/* own_folder.h - the folder of the running command, near which its files are
 * found. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* Places of libraries, relative to the command's folder: in a build folder, and
 * in installation prefixes, in `inside` below their folders of libraries. */
#define OWN_LIBRARIES(build, inside)                                           \
    {                                                                          \
        build, "../lib" inside, "../lib64" inside,                             \
            "../lib/x86_64-linux-gnu" inside,                                  \
            "../lib/aarch64-linux-gnu" inside, NULL                            \
    }

/* The first of `places` (ended by NULL), relative to `folder`, that contains the
 * file or folder, readable.  False: none does. */
bool cli_find_folder(const char *folder, const char *const *places,
                     const char *file, char out[PATH_MAX]);

/* The same relative to the folder of the running command. */
bool cli_find_near(const char *const *places, const char *file,
                   char out[PATH_MAX]);
