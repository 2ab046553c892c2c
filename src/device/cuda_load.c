/* cuda_load.c - loads the drivers' libraries at run time, so that building and
 * installing need none of them. */
#include "device/cuda_device.h"

#include <dlfcn.h>
#include <string.h>

#include "base/fail.h"

/* The first library that can be loaded is used. */
static const struct cuda_family families[CUDA_FAMILIES] = {
    {.name = "cuda", .libraries = {"libcuda.so.1"}, .column = 0},
    {.name = "hip",
     .libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                   "libamdhip64.so"},
     .column = 1},
};

const struct cuda_family *larder__cuda_family(const char *spec)
{
    return &families[strncmp(spec, "hip:", 4) == 0];
}

static const int attributes[CUDA_ATTRIBUTE_COUNT][CUDA_FAMILIES] = {
#define X(name, cuda, hip, theirs) {cuda, hip},
    CUD_ATTRIBUTE_MAP(X)
#undef X
};

int larder__cuda_attribute(const struct cuda_family *family,
                           enum cuda_attribute which)
{
    return attributes[which][family->column];
}

enum call_need { NEEDED, WANTED, VIRTUAL };

struct call_place {
    enum call_need need;
    size_t offset; /* in struct cud_calls */
    const char *symbols[CUDA_FAMILIES];
};

static const struct call_place places[CUDA_CALL_COUNT] = {
#define X(need, name, cuda, hip, arguments)                                    \
    {need, offsetof(struct cud_calls, name), {#cuda, #hip}},
    CUD_CALL_MAP(X)
#undef X
};

/* Where the driver's functions are found. */
struct source {
    void *library;
    void *(*below)(const char *symbol); /* or NULL */
};

/* Below a preload library that holds work back (LARDER_PRELOAD=gate) the
 * driver's own functions are taken, so that the allocator does not wait for
 * itself. */
static struct source source_of(void *library)
{
    struct source source = {.library = library};
    void *below = dlsym(RTLD_DEFAULT, "larder_preload_below");

    memcpy(&source.below, &below, sizeof below);
    return source;
}

/* C has no conversion between pointers to functions and to objects, but POSIX
 * guarantees the same representation. */
static bool call_find(const struct source *source, const char *symbol,
                      const struct call_place *place, struct cud_calls *out)
{
    void *found = source->below == NULL ? NULL : source->below(symbol);

    if (found == NULL)
        found = dlsym(source->library, symbol);
    memcpy((char *)out + place->offset, &found, sizeof found);
    return found != NULL;
}

/* Drop all virtual memory calls if one of them is missing. */
static void drop_virtual(struct cud_calls *out)
{
    for (int i = 0; i < CUDA_CALL_COUNT; i++) {
        if (places[i].need == VIRTUAL)
            memset((char *)out + places[i].offset, 0, sizeof(void *));
    }
}

static void *library_open(const struct cuda_family *family, const char **name)
{
    void *library = NULL;

    for (int i = 0; library == NULL && family->libraries[i] != NULL; i++) {
        *name = family->libraries[i];
        library = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    return library;
}

larder_result larder__cuda_load(const struct cuda_family *family,
                                struct cud_calls *out)
{
    const char *name = NULL;
    void *library = library_open(family, &name);
    bool has_virtual = true;
    struct source source;

    if (library == NULL)
        return larder__fail(LARDER_ERR_UNSUPPORTED,
                            "device '%s': the driver cannot be loaded: %s",
                            family->name, dlerror());
    source = source_of(library);
    for (int i = 0; i < CUDA_CALL_COUNT; i++) {
        const char *symbol = places[i].symbols[family->column];
        bool found = call_find(&source, symbol, &places[i], out);

        if (!found && places[i].need == NEEDED)
            return larder__fail(LARDER_ERR_UNSUPPORTED,
                                "device '%s': %s lacks '%s', which is "
                                "required: a newer driver is needed",
                                family->name, name, symbol);
        has_virtual = has_virtual && (found || places[i].need != VIRTUAL);
    }
    if (!has_virtual)
        drop_virtual(out);
    return LARDER_OK;
}
