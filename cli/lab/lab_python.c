#include "lab_python.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "option.h"
#include "own_folder.h"

enum { FIXED_WORDS = 20 };

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The first of `places` (ended by NULL), seen from `folder`, that holds
 * `inside`. */
static bool find_place(const char *folder, const char *const *places,
                       const char *inside, char out[PATH_MAX])
{
    for (; *places != NULL; places++) {
        char probe[PATH_MAX];
        int length =
            snprintf(probe, sizeof probe, "%s/%s/%s", folder, *places, inside);

        if (length > 0 && (size_t)length < sizeof probe &&
            (is_folder(probe) || is_file(probe))) {
            snprintf(probe, sizeof probe, "%s/%s", folder, *places);
            return realpath(probe, out) != NULL;
        }
    }
    return false;
}

/* The folder of the package `larder`. */
static bool find_package(char out[PATH_MAX])
{
    static const char *const places[] = {"../python", "../share/larder/python",
                                         NULL};
    static const char *const here[] = {".", NULL};
    const char *set = getenv("LARDER_PYTHON_DIR");
    char folder[PATH_MAX];

    if (set != NULL && *set != '\0') {
        if (find_place(set, here, "larder/lab", out))
            return true;
        fprintf(stderr,
                "larder lab run: LARDER_PYTHON_DIR '%s' does not hold the "
                "package larder\n",
                set);
        return false;
    }
    if (cli_own_folder(folder) && find_place(folder, places, "larder/lab", out))
        return true;
    fputs("larder lab run: the Python package is not beside the command; "
          "LARDER_PYTHON_DIR can name its folder\n",
          stderr);
    return false;
}

/* Where the shared library is, as seen from the command; where it is not, the
 * package looks for itself. */
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

/* The interpreter that was named, which then has the package; else NULL. */
static const char *named_python(void)
{
    const char *set = getenv("LARDER_PYTHON");

    return set != NULL && *set != '\0' ? set : NULL;
}

/* In front of what is there. */
static bool add_to_path(const char *package)
{
    const char *old = getenv("PYTHONPATH");
    size_t room = strlen(package) + (old != NULL ? strlen(old) : 0) + 2;
    char *both = malloc(room);
    bool ok;

    if (both == NULL)
        return false;
    if (old != NULL && *old != '\0')
        snprintf(both, room, "%s:%s", package, old);
    else
        snprintf(both, room, "%s", package);
    ok = setenv("PYTHONPATH", both, 1) == 0;
    free(both);
    return ok;
}

static bool set_package_folder(void)
{
    const char *asked = getenv("LARDER_PYTHON_DIR");
    char package[PATH_MAX];

    if (named_python() != NULL && (asked == NULL || *asked == '\0'))
        return true;
    if (!find_package(package))
        return false;
    if (add_to_path(package))
        return true;
    fputs("larder lab run: out of host memory\n", stderr);
    return false;
}

static void add_option(char **words, int *count, const char *name,
                       const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = (char *)name;
    words[(*count)++] = (char *)value;
}

static void fill_words(const struct lab_listing *l, char **words,
                       char width[16])
{
    int count = 0;

    words[count++] =
        (char *)(named_python() != NULL ? named_python() : "python3");
    words[count++] = (char *)"-m";
    words[count++] = (char *)"larder.lab.run";
    add_option(words, &count, "--device", l->device);
    add_option(words, &count, "--policy", l->policy);
    add_option(words, &count, "--conf", l->conf);
    add_option(words, &count, "--snapshot", l->snapshot);
    snprintf(width, 16, "%u", l->width);
    add_option(words, &count, "--width", l->width > 0 ? width : NULL);
    if (l->colour)
        words[count++] = (char *)"--colour";
    if (l->ascii)
        words[count++] = (char *)"--ascii";
    if (l->each_statement)
        words[count++] = (char *)"--each-statement";
    if (l->json)
        words[count++] = (char *)"--json";
    for (int i = 0; i < l->count; i++)
        words[count++] = l->words[i];
    words[count] = NULL;
}

int lab_python_run(const struct lab_listing *l)
{
    char width[16];
    char **words;

    if (access(l->words[0], R_OK) != 0) {
        fprintf(stderr, "larder lab run: %s: cannot be opened: %s\n",
                l->words[0], strerror(errno));
        return CLI_EXIT_BAD;
    }
    if (!set_package_folder())
        return CLI_EXIT_BAD;
    words = calloc((size_t)l->count + FIXED_WORDS, sizeof *words);
    if (words == NULL) {
        fputs("larder lab run: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    set_library_folder();
    fill_words(l, words, width);
    fflush(NULL);
    execvp(words[0], words);
    fprintf(stderr, "larder lab run: %s cannot be started: %s\n", words[0],
            strerror(errno));
    free(words);
    return CLI_EXIT_BAD;
}
