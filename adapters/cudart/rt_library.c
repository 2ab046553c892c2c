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
    return rt_end(cuLibraryUnload(library));
}

int cudaLibraryGetKernel(void **out, void *library, const char *name)
{
    return rt_end(cuLibraryGetKernel(out, library, name));
}

/* The image's contents are not inspected. */
int cudaLibraryGetKernelCount(unsigned *out, void *library)
{
    (void)library;
    *out = 0;
    return RT_SUCCESS;
}

int cudaLibraryEnumerateKernels(void **out, unsigned count, void *library)
{
    (void)out;
    (void)library;
    return rt_end(count == 0 ? RT_SUCCESS : RT_INVALID_VALUE);
}
