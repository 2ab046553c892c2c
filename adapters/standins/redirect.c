/* redirect.c - an audit library for the loader (LD_AUDIT, rtld-audit(7)):
 * requests for a CUDA library get the one in this file's folder, whatever the
 * path.
 *
 * LD_LIBRARY_PATH is not enough: Python wheels specify where their libraries
 * are (DT_RPATH), which has priority, or open them by absolute path. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRIVER "libcuda.so.1"

__attribute__((visibility("default"))) unsigned la_version(unsigned version);
__attribute__((visibility("default"))) char *la_objsearch(const char *name,
                                                          uintptr_t *cookie,
                                                          unsigned flag);

/* The folder of this library; empty if unknown. */
static char folder[PATH_MAX];

static void folder_find(void)
{
    Dl_info info;
    const char *slash;

    if (dladdr(folder, &info) == 0 || info.dli_fname == NULL)
        return;
    slash = strrchr(info.dli_fname, '/');
    if (slash != NULL && slash - info.dli_fname < PATH_MAX)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - info.dli_fname),
                 info.dli_fname);
}

unsigned la_version(unsigned version)
{
    folder_find();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* The loader copies the result.  It holds its lock, so these calls do not
 * overlap. */
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    static char path[PATH_MAX];
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    int length;

    (void)cookie;
    if (flag != LA_SER_ORIG || folder[0] == '\0' ||
        strncmp(base, "lib", 3) != 0)
        return (char *)name;
    length = snprintf(path, sizeof path, "%s/%s%s", folder,
                      strcmp(base, DRIVER) == 0 ? "../fakecuda/" : "", base);
    if (length < 0 || length >= PATH_MAX || access(path, R_OK) != 0)
        return (char *)name;
    return path;
}
