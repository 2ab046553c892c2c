/* runtime_subject.c - a CUDA runtime program, built without a toolkit, for
 * `larder exec`.  Opens the runtime by the path it is given, as Python packages
 * do, and allocates 6 MiB. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int malloc_fn(void **, size_t);

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *symbol = library == NULL ? NULL : dlsym(library, "cudaMalloc");
    malloc_fn *allocate;
    void *ptr;

    if (symbol == NULL) {
        puts("no runtime");
        return 99;
    }
    memcpy(&allocate, &symbol, sizeof allocate);
    return allocate(&ptr, 6 << 20);
}
