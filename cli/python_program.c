/* python_program.c - runs Python so that it finds the package `larder`. */
#include "python_program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "option.h"
#include "own_folder.h"

#define PACKAGE "larder/lab"

/* Where the shared library is, relative to the command; if it is not there the
 * package searches for itself. */
static void set_library_folder(void)
{
    static const char *const places[] = OWN_LIBRARIES(".", "");
    char found[PATH_MAX];

    if (cli_find_near(places, "liblarder_lab.so.0", found))
        setenv("LARDER_LIBRARY_DIR", found, 0);
}

/* If there is no package near the command, a named interpreter may have one
 * installed, for example by pip. */
static bool set_package_folder(const char *command)
{
    static const char *const here[] = {".", NULL};
    static const char *const near[] = {"../python", "../share/larder/python",
                                       "python", NULL};
    const char *asked = environment_said("LARDER_PYTHON_DIR");
    char package[PATH_MAX];

    if (asked != NULL) {
        if (!cli_find_folder(asked, here, PACKAGE, package))
            return cli_complain(command,
                                "LARDER_PYTHON_DIR '%s' does not contain the "
                                "package larder",
                                asked);
    } else if (!cli_find_near(near, PACKAGE, package)) {
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

static size_t words_count(char *const *words)
{
    size_t n = 0;

    while (words[n] != NULL)
        n++;
    return n;
}

int cli_python_run(const char *command, const char *module, char *const *own,
                   char *const *words)
{
    enum { FIRST = 3 };
    size_t own_count = words_count(own), count = words_count(words);
    char **all;

    if (!set_package_folder(command))
        return CLI_EXIT_BAD;
    set_library_folder();
    all = calloc(FIRST + own_count + count + 1, sizeof *all);
    if (all == NULL)
        return cli_no_memory(command);
    all[0] = (char *)cli_python_name();
    all[1] = (char *)"-m";
    all[2] = (char *)module;
    memcpy(all + FIRST, own, own_count * sizeof *all);
    memcpy(all + FIRST + own_count, words, count * sizeof *all);
    fflush(NULL);
    execvp(all[0], all);
    cli_complain(command, "%s cannot be started: %s", all[0], strerror(errno));
    free(all);
    return CLI_EXIT_BAD;
}
