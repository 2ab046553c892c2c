/* fake_module.c - modules, their functions, and launches: all are accepted and
 * counted, and do nothing. */
#include "driver/fake_module.h"

#include <stdlib.h>
#include <string.h>

/* ---- modules ------------------------------------------------------------ */

/* From an image in memory, or from a file, which is not read.  A library
 * belongs to no context. */
static cud_result module_make(const char *symbol, void **out, const void *image,
                              bool is_read, bool is_library)
{
    cud_result answer = fake_begin_bare(symbol);
    struct fake_module *m;

    if (answer != CUD_SUCCESS)
        return answer;
    if (image == NULL)
        return fake_end(
            fake_broken(symbol, CUD_INVALID_VALUE, "there is no image"));
    m = calloc(1, sizeof *m);
    if (m == NULL || (is_read && !fake_image_read(&m->image, image))) {
        if (m != NULL)
            fake_image_free(&m->image);
        free(m);
        return fake_end(CUD_OUT_OF_MEMORY);
    }
    m->device = is_library ? NULL : fake_current();
    *out = fake_handle_make(&m->handle, FAKE_MODULE);
    return fake_end(CUD_SUCCESS);
}

static void module_end(struct fake_module *gone)
{
    fake_handle_drop(&gone->handle);
    fake_variables_release(gone);
    fake_image_free(&gone->image);
    while (gone->functions != NULL) {
        struct fake_function *f = gone->functions;

        gone->functions = f->next;
        fake_handle_drop(&f->handle);
        free(f);
    }
    free(gone);
}

static cud_result module_drop(const char *symbol, void *module)
{
    struct fake_module *gone;
    cud_result answer = fake_begin_handle(symbol, FAKE_MODULE, module, &gone);

    if (answer != CUD_SUCCESS)
        return answer;
    module_end(gone);
    return fake_end(CUD_SUCCESS);
}

static bool module_forget(struct fake_handle *h, const struct fake_device *d)
{
    struct fake_module *m = (struct fake_module *)h; /* its first member */

    fake_variables_forget(m, d);
    if (m->device != d)
        return false;
    module_end(m);
    return true;
}

void fake_modules_forget(const struct fake_device *d)
{
    fake_handles_each(FAKE_MODULE, module_forget, d);
}

/* Whether the object exists, for calls that need nothing else. */
static cud_result check(const char *symbol, enum fake_kind kind,
                        const void *handle)
{
    void *found;
    cud_result answer = fake_begin_handle(symbol, kind, handle, &found);

    return answer != CUD_SUCCESS ? answer : fake_end(CUD_SUCCESS);
}

/* Accepts any name: images are not parsed. */
static cud_result function_find(const char *symbol, void **out, void *module,
                                const char *name)
{
    struct fake_module *m;
    struct fake_function *f;
    cud_result answer = fake_begin_handle(symbol, FAKE_MODULE, module, &m);

    if (answer != CUD_SUCCESS)
        return answer;
    if (name == NULL)
        return fake_end(
            fake_broken(symbol, CUD_INVALID_VALUE, "the name is NULL"));
    f = m->functions;
    while (f != NULL && strncmp(f->name, name, sizeof f->name - 1) != 0)
        f = f->next;
    if (f == NULL && (f = calloc(1, sizeof *f)) != NULL) {
        f->module = m;
        strncpy(f->name, name, sizeof f->name - 1);
        f->next = m->functions;
        m->functions = f;
        (void)fake_handle_make(&f->handle, FAKE_FUNCTION);
    }
    if (f == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    *out = (void *)f->handle.value;
    return fake_end(CUD_SUCCESS);
}

cud_result cuModuleLoad(void **out, const char *path)
{
    return module_make(__func__, out, path, false, false);
}

cud_result cuModuleLoadData(void **out, const void *image)
{
    return module_make(__func__, out, image, true, false);
}

cud_result cuModuleLoadDataEx(void **out, const void *image, unsigned count,
                              int *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return module_make(__func__, out, image, true, false);
}

cud_result cuModuleLoadFatBinary(void **out, const void *image)
{
    return module_make(__func__, out, image, true, false);
}

cud_result cuModuleUnload(void *module)
{
    return module_drop(__func__, module);
}

cud_result cuModuleGetFunction(void **out, void *module, const char *name)
{
    return function_find(__func__, out, module, name);
}

cud_result cuModuleGetLoadingMode(int *out)
{
    *out = 2; /* lazily */
    return CUD_SUCCESS;
}

/* ---- libraries: modules without a context ------------------------------- */

cud_result cuLibraryLoadData(void **out, const void *image, int *jit,
                             void **jit_values, unsigned jit_count,
                             int *options, void **values, unsigned count)
{
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return module_make(__func__, out, image, true, true);
}

cud_result cuLibraryLoadFromFile(void **out, const char *path, int *jit,
                                 void **jit_values, unsigned jit_count,
                                 int *options, void **values, unsigned count)
{
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return module_make(__func__, out, path, false, true);
}

cud_result cuLibraryUnload(void *library)
{
    return module_drop(__func__, library);
}

cud_result cuLibraryGetKernel(void **out, void *library, const char *name)
{
    return function_find(__func__, out, library, name);
}

cud_result cuLibraryGetModule(void **out, void *library)
{
    cud_result answer = check(__func__, FAKE_MODULE, library);

    if (answer == CUD_SUCCESS)
        *out = library;
    return answer;
}

cud_result cuKernelGetFunction(void **out, void *kernel)
{
    cud_result answer = check(__func__, FAKE_FUNCTION, kernel);

    if (answer == CUD_SUCCESS)
        *out = kernel;
    return answer;
}

/* ---- functions ---------------------------------------------------------- */

/* CUfunction_attribute, for a small kernel. */
static int function_attribute(int which)
{
    enum {
        THREADS = 0,
        REGISTERS = 4,
        PTX = 5,
        BINARY = 6,
        DYNAMIC_SHARED = 8
    };

    switch (which) {
    case THREADS:
        return 1024;
    case REGISTERS:
        return 32;
    case PTX:
    case BINARY:
        return 10 * fake_capability / 100 + fake_capability % 100;
    case DYNAMIC_SHARED:
        return fake_shared_bytes();
    default:
        return 0;
    }
}

cud_result cuFuncGetAttribute(int *out, int which, void *function)
{
    cud_result answer = check(__func__, FAKE_FUNCTION, function);

    if (answer == CUD_SUCCESS)
        *out = function_attribute(which);
    return answer;
}

cud_result cuFuncSetAttribute(void *function, int which, int value)
{
    (void)which;
    (void)value;
    return check(__func__, FAKE_FUNCTION, function);
}

cud_result cuFuncSetCacheConfig(void *function, int config)
{
    (void)config;
    return check(__func__, FAKE_FUNCTION, function);
}

cud_result cuKernelSetCacheConfig(void *kernel, int config, cud_device device)
{
    (void)device;
    return cuFuncSetCacheConfig(kernel, config);
}

cud_result cuFuncSetSharedMemConfig(void *function, int config)
{
    (void)config;
    return check(__func__, FAKE_FUNCTION, function);
}

cud_result cuFuncGetName(const char **out, void *function)
{
    const struct fake_function *f;
    cud_result answer =
        fake_begin_handle(__func__, FAKE_FUNCTION, function, &f);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = f->name;
    return fake_end(CUD_SUCCESS);
}

cud_result cuKernelGetName(const char **out, void *kernel)
{
    return cuFuncGetName(out, kernel);
}

cud_result cuFuncGetModule(void **out, void *function)
{
    const struct fake_function *f;
    cud_result answer =
        fake_begin_handle(__func__, FAKE_FUNCTION, function, &f);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = (void *)f->module->handle.value;
    return fake_end(CUD_SUCCESS);
}

cud_result cuKernelGetAttribute(int *out, int which, void *kernel,
                                cud_device device)
{
    (void)device;
    return cuFuncGetAttribute(out, which, kernel);
}

cud_result cuKernelSetAttribute(int which, int value, void *kernel,
                                cud_device device)
{
    (void)device;
    return cuFuncSetAttribute(kernel, which, value);
}

/* As many blocks as the threads allow. */
cud_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function,
                                                       int threads,
                                                       size_t shared)
{
    cud_result answer = check(__func__, FAKE_FUNCTION, function);

    (void)shared;
    if (answer != CUD_SUCCESS)
        return answer;
    if (threads <= 0)
        return CUD_INVALID_VALUE;
    *out = fake_threads() / threads;
    if (*out > FAKE_BLOCKS)
        *out = FAKE_BLOCKS;
    return CUD_SUCCESS;
}

cud_result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *out, void *function, int threads, size_t shared, unsigned flags)
{
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(out, function, threads,
                                                       shared);
}

/* An equal share of a multiprocessor's shared memory. */
cud_result cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, void *function,
                                                   int blocks, int threads)
{
    cud_result answer = check(__func__, FAKE_FUNCTION, function);

    (void)threads;
    if (answer == CUD_SUCCESS && blocks <= 0)
        answer = CUD_INVALID_VALUE;
    if (answer == CUD_SUCCESS)
        *out = (size_t)fake_shared_bytes() / (size_t)blocks;
    return answer;
}

/* The largest block, as often as it fits on every multiprocessor. */
cud_result cuOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                            void *function,
                                            size_t (*shared_of)(int),
                                            size_t shared, int limit)
{
    enum { LARGEST = 1024 };
    struct fake_device *d;
    cud_result answer = check(__func__, FAKE_FUNCTION, function);

    if (answer == CUD_SUCCESS)
        answer = fake_begin(__func__, &d);
    (void)shared_of;
    (void)shared;
    if (answer != CUD_SUCCESS)
        return answer;
    *block = limit > 0 && limit < LARGEST ? limit : LARGEST;
    *grid = fake_processors(d) * (fake_threads() / *block);
    return fake_end(CUD_SUCCESS);
}

/* ---- launching ---------------------------------------------------------- */

static uint64_t duration_ns(const struct fake_device *d, const unsigned size[6])
{
    double threads = 1;

    for (int i = 0; i < 6; i++)
        threads *= size[i];
    return FAKE_LAUNCH_NS +
           (uint64_t)(threads * FAKE_WAVE_NS /
                      (fake_processors(d) * (double)fake_threads()));
}

static cud_result launch(const char *symbol, const void *function,
                         const unsigned size[6], cud_stream stream)
{
    struct fake_device *d;
    cud_result answer = fake_begin(symbol, &d);
    larder_stream number;

    if (answer != CUD_SUCCESS)
        return answer;
    if (fake_handle_find(FAKE_FUNCTION, function) == NULL)
        return fake_end(fake_broken(symbol, CUD_INVALID_HANDLE,
                                    "there is no function %p, or no longer",
                                    function));
    for (int i = 0; i < 6; i++) {
        if (size[i] == 0)
            return fake_end(fake_broken(symbol, CUD_INVALID_VALUE,
                                        "the grid or block is empty"));
    }
    answer = fake_stream_number(symbol, d, stream, &number);
    if (answer == CUD_SUCCESS)
        answer = fake_work_note(symbol, d, number, duration_ns(d, size));
    if (answer == CUD_SUCCESS)
        d->launches++;
    return fake_end(answer);
}

cud_result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, cud_stream stream, void **arguments,
                          void **extra)
{
    const unsigned size[] = {gx, gy, gz, bx, by, bz};

    (void)shared;
    (void)arguments;
    (void)extra;
    return launch(__func__, function, size, stream);
}

cud_result cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy,
                                     unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared,
                                     cud_stream stream, void **arguments)
{
    const unsigned size[] = {gx, gy, gz, bx, by, bz};

    (void)shared;
    (void)arguments;
    return launch(__func__, function, size, stream);
}

/* The beginning of CUlaunchConfig. */
struct launch_config {
    unsigned size[6];
    unsigned shared;
    cud_stream stream;
};

cud_result cuLaunchKernelEx(const void *config, void *function,
                            void **arguments, void **extra)
{
    const struct launch_config *c = config;

    (void)arguments;
    (void)extra;
    return launch(__func__, function, c->size, c->stream);
}

/* ---- linking code at run time ------------------------------------------- */

/* A dummy image for cuModuleLoadData(). */
static const char linked[64] = "linked by the simulated driver";

cud_result cuLinkCreate_v2(unsigned count, int *options, void **values,
                           void **out)
{
    struct fake_handle *link;
    cud_result answer = fake_begin_bare(__func__);

    (void)count;
    (void)options;
    (void)values;
    if (answer != CUD_SUCCESS)
        return answer;
    link = calloc(1, sizeof *link);
    if (link == NULL)
        return fake_end(CUD_OUT_OF_MEMORY);
    *out = fake_handle_make(link, FAKE_LINK);
    return fake_end(CUD_SUCCESS);
}

cud_result cuLinkAddData_v2(void *state, int type, void *data, size_t bytes,
                            const char *name, unsigned count, int *options,
                            void **values)
{
    (void)type;
    (void)data;
    (void)bytes;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    return check(__func__, FAKE_LINK, state);
}

cud_result cuLinkAddFile_v2(void *state, int type, const char *path,
                            unsigned count, int *options, void **values)
{
    (void)type;
    (void)path;
    (void)count;
    (void)options;
    (void)values;
    return check(__func__, FAKE_LINK, state);
}

cud_result cuLinkComplete(void *state, const void **out, size_t *bytes)
{
    cud_result answer = check(__func__, FAKE_LINK, state);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = linked;
    *bytes = sizeof linked;
    return CUD_SUCCESS;
}

cud_result cuLinkDestroy(void *state)
{
    struct fake_handle *link;
    cud_result answer = fake_begin_handle(__func__, FAKE_LINK, state, &link);

    if (answer != CUD_SUCCESS)
        return answer;
    fake_handle_drop(link);
    free(link);
    return fake_end(CUD_SUCCESS);
}

/* ---- descriptions of tensors, which kernels read ------------------------ */

cud_result cuTensorMapEncodeTiled(void *out, int type, unsigned rank,
                                  void *base, const void *sizes,
                                  const void *strides, const void *box,
                                  const void *steps, int interleave,
                                  int swizzle, int promotion, int fill)
{
    enum { MAP_BYTES = 128 };

    (void)type;
    (void)rank;
    (void)base;
    (void)sizes;
    (void)strides;
    (void)box;
    (void)steps;
    (void)interleave;
    (void)swizzle;
    (void)promotion;
    (void)fill;
    memset(out, 0, MAP_BYTES);
    return CUD_SUCCESS;
}
