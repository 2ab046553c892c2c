#include "exec_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool holds_driver(const char *folder)
{
    char probe[PATH_MAX];
    int length = snprintf(probe, sizeof probe, "%s/libcuda.so.1", folder);

    return length > 0 && (size_t)length < sizeof probe &&
           access(probe, R_OK) == 0;
}

/* The folder that the command lies in, with what follows. */
static bool beside_command(const char *place, char out[PATH_MAX])
{
    char self[PATH_MAX];
    char joined[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    int joined_length;

    if (length <= 0)
        return false;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    joined_length = snprintf(joined, sizeof joined, "%s/%s", self, place);
    return joined_length > 0 && (size_t)joined_length < sizeof joined &&
           holds_driver(joined) && realpath(joined, out) != NULL;
}

bool exec_find_folder(char out[PATH_MAX])
{
    static const char *const places[] = {
        "fakecuda", "../lib/larder/fakecuda", "../lib64/larder/fakecuda",
        "../lib/x86_64-linux-gnu/larder/fakecuda",
        "../lib/aarch64-linux-gnu/larder/fakecuda"};
    const char *set = getenv("LARDER_FAKECUDA_DIR");

    if (set != NULL && *set != '\0') {
        if (holds_driver(set) && realpath(set, out) != NULL)
            return true;
        fprintf(stderr,
                "larder exec: LARDER_FAKECUDA_DIR '%s' does not hold "
                "libcuda.so.1\n",
                set);
        return false;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (beside_command(places[i], out))
            return true;
    }
    fputs("larder exec: the simulated driver is not beside the command; "
          "LARDER_FAKECUDA_DIR can name its folder\n",
          stderr);
    return false;
}

bool exec_set_path(const char *folder)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    bool has_old = old != NULL && *old != '\0';
    size_t room = strlen(folder) + (has_old ? strlen(old) : 0) + 2;
    char *both = malloc(room);
    bool ok;

    if (both == NULL)
        return false;
    snprintf(both, room, "%s%s%s", folder, has_old ? ":" : "",
             has_old ? old : "");
    ok = setenv("LD_LIBRARY_PATH", both, 1) == 0;
    free(both);
    return ok;
}
