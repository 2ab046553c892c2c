/* rt_library.c - device code that a program loads at run time. */
#include "rt_state.h"

int cudaLibraryLoadData(void **out, const void *image, int *jit,
                        void **jit_values, unsigned jit_count, int *options,
                        void **values, unsigned count)
{
    RT_PASS(cuLibraryLoadData(out, image, jit, jit_values, jit_count, options,
                              values, count));
}

int cudaLibraryLoadFromFile(void **out, const char *path, int *jit,
                            void **jit_values, unsigned jit_count, int *options,
                            void **values, unsigned count)
{
    RT_PASS(cuLibraryLoadFromFile(out, path, jit, jit_values, jit_count,
                                  options, values, count));
}

int cudaLibraryUnload(void *library)
{
    RT_PASS_BARE(cuLibraryUnload(library));
}

int cudaLibraryGetKernel(void **out, void *library, const char *name)
{
    RT_PASS_BARE(cuLibraryGetKernel(out, library, name));
}

/* The image's contents are not inspected. */
int cudaLibraryGetKernelCount(unsigned *out, void *library)
{
    void *module = NULL;
    int answer = rt_begin_bare();

    if (answer == CUD_SUCCESS)
        answer = cuLibraryGetModule(&module, library);
    if (answer == CUD_SUCCESS)
        *out = 0;
    return rt_end(answer);
}

int cudaLibraryEnumerateKernels(void **out, unsigned count, void *library)
{
    unsigned known = 0;
    int answer = cudaLibraryGetKernelCount(&known, library);

    (void)out;
    return rt_end(answer == RT_SUCCESS && count > known ? RT_INVALID_VALUE
                                                        : answer);
}
