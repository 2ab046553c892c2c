/* exec_place.c - finds the simulated driver and its libraries, and puts them
 * first in the loader's paths. */
#include "exec_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "environment.h"
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

/* Where a variable says that the file is.  False if it does not say; *is_wrong:
 * it is not there, which is reported. */
static bool find_said(const char *variable, const char *file,
                      char out[PATH_MAX], bool *is_wrong)
{
    const char *set = environment_said(variable);

    *is_wrong = false;
    if (set == NULL)
        return false;
    if (holds(set, file) && realpath(set, out) != NULL)
        return true;
    *is_wrong = true;
    return cli_complain("exec", "%s '%s' does not contain %s", variable, set,
                        file);
}

bool exec_find_folder(char out[PATH_MAX])
{
    bool is_wrong;

    return find_said("LARDER_FAKECUDA_DIR", DRIVER, out, &is_wrong) ||
           (!is_wrong &&
            (find_beside("fakecuda", "larder/fakecuda", DRIVER, out) ||
             cli_complain("exec",
                          "the simulated driver is not beside the command; set "
                          "LARDER_FAKECUDA_DIR to its folder")));
}

bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong)
{
    return find_said("LARDER_CUDART_DIR", RUNTIME, out, is_wrong) ||
           (!*is_wrong && find_beside("cudart", "larder/cudart", RUNTIME, out));
}

/* The loader accepts several auditors, separated by colons. */
bool exec_set_runtime(const char *folder)
{
    char auditor[PATH_MAX];

    if (!environment_prepend("LD_LIBRARY_PATH", folder))
        return false;
    if (!holds(folder, REDIRECT) || !join(auditor, folder, REDIRECT) ||
        strchr(auditor, ':') != NULL)
        return true;
    return environment_prepend("LD_AUDIT", auditor);
}

bool exec_find_preload(char out[PATH_MAX])
{
    const char *set = environment_said("LARDER_PRELOAD_LIBRARY");
    char folder[PATH_MAX];

    if (set != NULL)
        return (access(set, R_OK) == 0 && realpath(set, out) != NULL) ||
               cli_complain("exec",
                            "LARDER_PRELOAD_LIBRARY '%s' cannot be read", set);
    return (find_beside(".", ".", PRELOAD, folder) &&
            join(out, folder, PRELOAD)) ||
           cli_complain("exec", PRELOAD " is not beside the command; set "
                                        "LARDER_PRELOAD_LIBRARY to its path");
}

/* The loader also splits LD_PRELOAD at blanks.  A path with a blank is
 * therefore split: its folder goes to LD_LIBRARY_PATH, which is split only at
 * colons. */
bool exec_set_preload(char library[PATH_MAX])
{
    char *slash = strrchr(library, '/');

    if (slash == NULL || strpbrk(library, " \t") == NULL)
        return environment_prepend("LD_PRELOAD", library);
    *slash = '\0';
    return environment_prepend("LD_PRELOAD", slash + 1) &&
           environment_prepend("LD_LIBRARY_PATH", library);
}
