/* exec_place.c - finds the simulated driver and its libraries, and puts them
 * first in the loader's paths. */
#include "exec.h"

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

/* The folder that a variable names.  False if it is not set; *is_wrong: the folder
 * lacks the file, which is reported. */
static bool find_said(const char *variable, const char *file,
                      char out[PATH_MAX], bool *is_wrong)
{
    static const char *const here[] = {".", NULL};
    const char *set = environment_said(variable);

    *is_wrong = false;
    if (set == NULL)
        return false;
    if (cli_find_folder(set, here, file, out))
        return true;
    *is_wrong = true;
    return cli_complain("exec", "%s '%s' does not contain %s", variable, set,
                        file);
}

bool exec_find_folder(char out[PATH_MAX])
{
    static const char *const places[] =
        OWN_LIBRARIES("fakecuda", "/larder/fakecuda");
    bool is_wrong;

    return find_said("LARDER_FAKECUDA_DIR", DRIVER, out, &is_wrong) ||
           (!is_wrong &&
            (cli_find_near(places, DRIVER, out) ||
             cli_complain("exec",
                          "the simulated driver is not beside the command; set "
                          "LARDER_FAKECUDA_DIR to its folder")));
}

bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong)
{
    static const char *const places[] =
        OWN_LIBRARIES("cudart", "/larder/cudart");

    return find_said("LARDER_CUDART_DIR", RUNTIME, out, is_wrong) ||
           (!*is_wrong && cli_find_near(places, RUNTIME, out));
}

/* The loader accepts several auditors, separated by colons. */
bool exec_set_runtime(const char *folder)
{
    char auditor[PATH_MAX];

    if (!environment_prepend("LD_LIBRARY_PATH", folder))
        return false;
    if (snprintf(auditor, sizeof auditor, "%s/" REDIRECT, folder) >= PATH_MAX ||
        access(auditor, R_OK) != 0 || strchr(auditor, ':') != NULL)
        return true;
    return environment_prepend("LD_AUDIT", auditor);
}

bool exec_find_preload(char out[PATH_MAX])
{
    static const char *const places[] = OWN_LIBRARIES(".", "");
    const char *set = environment_said("LARDER_PRELOAD_LIBRARY");
    char folder[PATH_MAX];

    if (set != NULL)
        return (access(set, R_OK) == 0 && realpath(set, out) != NULL) ||
               cli_complain("exec",
                            "LARDER_PRELOAD_LIBRARY '%s' cannot be read", set);
    return (cli_find_near(places, PRELOAD, folder) &&
            snprintf(out, PATH_MAX, "%s/" PRELOAD, folder) < PATH_MAX) ||
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
