/* cxx_exception.c - throws std::runtime_error from C. */
#include "torch_exception.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* Larger than any std::runtime_error, which is a pointer to its table and one
 * to its text. */
enum { ERROR_BYTES = 64 };

/* ---- libraries that are loaded ----------------------------------------------- */

struct wanted {
    const char *library;
    int skip; /* matches to skip */
    char path[PATH_MAX];
};

static int note_path(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct wanted *w = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash == NULL ? info->dlpi_name : slash + 1;

    (void)size;
    if (strncmp(name, w->library, strlen(w->library)) != 0 || w->skip-- > 0)
        return 0;
    snprintf(w->path, sizeof w->path, "%s", info->dlpi_name);
    return 1;
}

/* Libraries that Python loads are not in the global scope, so each is searched.
 * This happens outside of the iteration, whose lock ranks below dlopen()'s. */
void *larder__loaded_symbol(const char *library, const char *symbol)
{
    void *found = NULL;

    for (int n = 0; found == NULL; n++) {
        struct wanted w = {.library = library, .skip = n};
        void *handle;

        if (dl_iterate_phdr(note_path, &w) == 0)
            return NULL;
        handle = dlopen(w.path, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == NULL)
            continue;
        found = dlsym(handle, symbol);
        dlclose(handle); /* it was loaded before, and stays */
    }
    return found;
}

/* ---- the C++ library ----------------------------------------------------------- */

/* C has no conversion between pointers to objects and to functions. */
static bool keep(void *found, void *out)
{
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static bool cxx_exception_find(const char *symbol, void *out)
{
    return keep(larder__loaded_symbol("libstdc++.so", symbol), out);
}

/* The program may have replaced it, and its version then frees what we
 * allocate. */
static bool find_heap(const char *symbol, void *out)
{
    return keep(dlsym(RTLD_DEFAULT, symbol), out) ||
           cxx_exception_find(symbol, out);
}

bool larder__cxx_find(struct cxx_runtime *out)
{
    return cxx_exception_find("__cxa_allocate_exception", &out->allocate) &&
           cxx_exception_find("__cxa_throw", &out->raise) &&
           find_heap("_Znwm", &out->heap) &&
           find_heap("_ZdlPv", &out->heap_free) &&
           cxx_exception_find("_ZTISt13runtime_error", &out->error_type) &&
           cxx_exception_find("_ZNSt13runtime_errorC1EPKc", &out->error_make) &&
           cxx_exception_find("_ZNSt13runtime_errorD1Ev", &out->error_destroy);
}

void larder__cxx_raise(const struct cxx_runtime *cxx, const char *words)
{
    void *object = cxx->allocate(ERROR_BYTES);

    cxx->error_make(object, words);
    cxx->raise(object, cxx->error_type, cxx->error_destroy);
}
