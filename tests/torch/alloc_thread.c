/* alloc_thread.c - an allocation by a thread that Python does not know, like
 * those of PyTorch's C++ code. */
#include <pthread.h>
#include <stddef.h>

typedef void *alloc_fn(size_t, int, void *);

struct request {
    alloc_fn *fn;
    size_t bytes;
    int device;
};

void *alloc_in_thread(alloc_fn *fn, size_t bytes, int device);

static void *run(void *argument)
{
    const struct request *r = argument;

    return r->fn(r->bytes, r->device, NULL);
}

void *alloc_in_thread(alloc_fn *fn, size_t bytes, int device)
{
    struct request r = {fn, bytes, device};
    pthread_t thread;
    void *result = NULL;

    if (pthread_create(&thread, NULL, run, &r) == 0)
        pthread_join(thread, &result);
    return result;
}
