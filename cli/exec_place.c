/* exec_place.c - finds the simulated driver and its libraries, and puts them
 * first in the loader's paths. */
#include "exec_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "own_folder.h"

#define DRIVER "libcuda.so.1"
#define PRELOAD "liblarder_preload.so"
#define RUNTIME "libcudart.so.13"
#define REDIRECT "liblarder_redirect.so"

static bool join(char out[PATH_MAX], const char *folder, const char *rest)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", folder, rest);

    return length > 0 && length < PATH_MAX;
}

static bool holds(const char *folder, const char *file)
{
    char probe[PATH_MAX];

    return join(probe, folder, file) && access(probe, R_OK) == 0;
}

/* The first folder near the command that contains the file: of a build, then of
 * installation prefixes. */
static bool find_beside(const char *build, const char *installed,
                        const char *file, char out[PATH_MAX])
{
    static const char *const libraries[] = {"../lib", "../lib64",
                                            "../lib/x86_64-linux-gnu",
                                            "../lib/aarch64-linux-gnu"};
    char self[PATH_MAX];
    char library[PATH_MAX];
    char folder[PATH_MAX];

    if (!cli_own_folder(self))
        return false;
    if (join(folder, self, build) && holds(folder, file))
        return realpath(folder, out) != NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        if (join(library, self, libraries[i]) &&
            join(folder, library, installed) && holds(folder, file))
            return realpath(folder, out) != NULL;
    }
    return false;
}

bool exec_find_folder(char out[PATH_MAX])
{
    const char *set = secure_getenv("LARDER_FAKECUDA_DIR");

    if (set != NULL && *set != '\0') {
        if (holds(set, DRIVER) && realpath(set, out) != NULL)
            return true;
        cli_complain("exec", "LARDER_FAKECUDA_DIR '%s' does not hold " DRIVER,
                     set);
        return false;
    }
    if (find_beside("fakecuda", "larder/fakecuda", DRIVER, out))
        return true;
    fputs("larder exec: the simulated driver is not beside the command; "
          "LARDER_FAKECUDA_DIR can name its folder\n",
          stderr);
    return false;
}

bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong)
{
    const char *set = secure_getenv("LARDER_CUDART_DIR");

    *is_wrong = false;
    if (set == NULL || *set == '\0')
        return find_beside("cudart", "larder/cudart", RUNTIME, out);
    if (holds(set, RUNTIME) && realpath(set, out) != NULL)
        return true;
    *is_wrong = true;
    cli_complain("exec", "LARDER_CUDART_DIR '%s' does not hold " RUNTIME, set);
    return false;
}

/* The loader accepts several auditors, separated by colons. */
bool exec_set_runtime(const char *folder)
{
    char auditor[PATH_MAX];

    if (!exec_set_path("LD_LIBRARY_PATH", folder))
        return false;
    if (!holds(folder, REDIRECT) || !join(auditor, folder, REDIRECT) ||
        strchr(auditor, ':') != NULL)
        return true;
    return exec_set_path("LD_AUDIT", auditor);
}

bool exec_find_preload(char out[PATH_MAX])
{
    const char *set = secure_getenv("LARDER_PRELOAD_LIBRARY");
    char folder[PATH_MAX];

    if (set != NULL && *set != '\0') {
        if (access(set, R_OK) == 0 && realpath(set, out) != NULL)
            return true;
        cli_complain("exec", "LARDER_PRELOAD_LIBRARY '%s' cannot be read", set);
        return false;
    }
    if (find_beside(".", ".", PRELOAD, folder) && join(out, folder, PRELOAD))
        return true;
    fputs("larder exec: " PRELOAD " is not beside the command; "
          "LARDER_PRELOAD_LIBRARY can name it\n",
          stderr);
    return false;
}

/* The loader also splits LD_PRELOAD at blanks.  A path with a blank is
 * therefore split: its folder goes to LD_LIBRARY_PATH, which is split only at
 * colons. */
bool exec_set_preload(char library[PATH_MAX])
{
    char *slash = strrchr(library, '/');

    if (slash == NULL || strpbrk(library, " \t") == NULL)
        return exec_set_path("LD_PRELOAD", library);
    *slash = '\0';
    return exec_set_path("LD_PRELOAD", slash + 1) &&
           exec_set_path("LD_LIBRARY_PATH", library);
}

bool exec_set_path(const char *variable, const char *first)
{
    const char *old = getenv(variable);
    bool has_old = old != NULL && *old != '\0';
    size_t room = strlen(first) + (has_old ? strlen(old) : 0) + 2;
    char *both = malloc(room);
    bool ok;

    if (both == NULL)
        return false;
    snprintf(both, room, "%s%s%s", first, has_old ? ":" : "",
             has_old ? old : "");
    ok = setenv(variable, both, 1) == 0;
    free(both);
    return ok;
}
