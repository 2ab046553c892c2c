/* python_program.c - runs Python so that it finds the package `larder`. */
#include "python_program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "environment.h"
#include "option.h"
#include "own_folder.h"

static bool is_folder_or_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

/* The first of `places` (ended by NULL), relative to `folder`, that contains
 * `inside`. */
static bool find_place(const char *folder, const char *const *places,
                       const char *inside, char out[PATH_MAX])
{
    for (; *places != NULL; places++) {
        char probe[PATH_MAX];
        int length =
            snprintf(probe, sizeof probe, "%s/%s/%s", folder, *places, inside);

        if (length > 0 && (size_t)length < sizeof probe &&
            is_folder_or_file(probe)) {
            snprintf(probe, sizeof probe, "%s/%s", folder, *places);
            return realpath(probe, out) != NULL;
        }
    }
    return false;
}

/* The package `larder` of the command's own build. */
static bool find_package_beside(char out[PATH_MAX])
{
    static const char *const places[] = {"../python", "../share/larder/python",
                                         "python", NULL};
    char folder[PATH_MAX];

    return cli_own_folder(folder) &&
           find_place(folder, places, "larder/lab", out);
}

static bool find_package_in(const char *command, const char *folder,
                            char out[PATH_MAX])
{
    static const char *const here[] = {".", NULL};

    if (find_place(folder, here, "larder/lab", out))
        return true;
    return cli_complain(
        command, "LARDER_PYTHON_DIR '%s' does not contain the package larder",
        folder);
}

/* Where the shared library is, relative to the command; if it is not there the
 * package searches for itself. */
static void set_library_folder(void)
{
    static const char *const places[] = {".",
                                         "../lib",
                                         "../lib64",
                                         "../lib/x86_64-linux-gnu",
                                         "../lib/aarch64-linux-gnu",
                                         NULL};
    char folder[PATH_MAX];
    char found[PATH_MAX];

    if (cli_own_folder(folder) &&
        find_place(folder, places, "liblarder_lab.so.0", found))
        setenv("LARDER_LIBRARY_DIR", found, 0);
}

/* If there is no package near the command, a named interpreter may have one
 * installed, for example by pip. */
static bool set_package_folder(const char *command)
{
    const char *asked = environment_said("LARDER_PYTHON_DIR");
    char package[PATH_MAX];

    if (asked != NULL) {
        if (!find_package_in(command, asked, package))
            return false;
    } else if (!find_package_beside(package)) {
        if (environment_said("LARDER_PYTHON") != NULL)
            return true;
        return cli_complain(command,
                            "the Python package is not beside the command; set "
                            "LARDER_PYTHON_DIR to its folder");
    }
    if (environment_prepend("PYTHONPATH", package))
        return true;
    return cli_complain(command, "out of host memory");
}

const char *cli_python_name(void)
{
    const char *named = environment_said("LARDER_PYTHON");

    return named != NULL ? named : "python3";
}

bool cli_python_prepare(const char *command)
{
    if (!set_package_folder(command))
        return false;
    set_library_folder();
    return true;
}

int cli_python_become(const char *command, char **words)
{
    fflush(NULL);
    execvp(words[0], words);
    cli_complain(command, "%s cannot be started: %s", words[0],
                 strerror(errno));
    return CLI_EXIT_BAD;
}
