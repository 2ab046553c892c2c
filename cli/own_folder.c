/* own_folder.c - the folder of the running command, near which its files are
 * found. */
#include "own_folder.h"

#include <string.h>
#include <unistd.h>

bool cli_own_folder(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    char *slash;

    if (length <= 0)
        return false;
    out[length] = '\0';
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}
