/* own_folder.c - the folder of the running command, near which its files are
 * found. */
#include "own_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_find_folder(const char *folder, const char *const *places,
                     const char *file, char out[PATH_MAX])
{
    for (; *places != NULL; places++) {
        char probe[PATH_MAX];
        int length =
            snprintf(probe, sizeof probe, "%s/%s/%s", folder, *places, file);

        if (length > 0 && length < PATH_MAX && access(probe, R_OK) == 0) {
            probe[length - (int)strlen(file) - 1] = '\0';
            return realpath(probe, out) != NULL;
        }
    }
    return false;
}

bool cli_find_near(const char *const *places, const char *file,
                   char out[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
    char *slash;

    if (length <= 0)
        return false;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return cli_find_folder(self, places, file, out);
}
