/* nccl_driver.c - the driver's calls that NCCL makes, found in the driver that
 * the program has loaded. */
#include "nccl_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "nccl_reason.h"

/* X(type of the call, name) */
#define CALL_MAP(X)                                                            \
    X(int (*)(uintptr_t, uintptr_t, size_t, void *), cuMemcpyAsync)            \
    X(int (*)(void *), cuStreamSynchronize)                                    \
    X(int (*)(void *, int *), cuStreamIsCapturing)                             \
    X(int (*)(void **), cuCtxGetCurrent)                                       \
    X(int (*)(int *), cuCtxGetDevice)                                          \
    X(int (*)(void *), cuCtxSetCurrent)

static struct {
#define X(type, name) __typeof__(type) name;
    CALL_MAP(X)
#undef X
} calls;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool calls_find(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found;

    if (driver == NULL)
        return false;
#define X(type, name)                                                          \
    found = dlsym(driver, #name);                                              \
    memcpy(&calls.name, &found, sizeof found);
    CALL_MAP(X)
#undef X
    return calls.cuMemcpyAsync != NULL && calls.cuStreamSynchronize != NULL &&
           calls.cuStreamIsCapturing != NULL && calls.cuCtxGetCurrent != NULL &&
           calls.cuCtxGetDevice != NULL && calls.cuCtxSetCurrent != NULL;
}

/* Searched until found; opening the library here keeps it loaded. */
static bool has_driver(void)
{
    static bool is_found;
    bool answer;

    pthread_mutex_lock(&lock);
    is_found = is_found || calls_find();
    answer = is_found;
    pthread_mutex_unlock(&lock);
    return answer;
}

int nccl_copy(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
    if (to == from || bytes == 0)
        return NCCL_SUCCESS;
    return has_driver() && calls.cuMemcpyAsync(to, from, bytes, stream) == 0
               ? NCCL_SUCCESS
               : NCCL_CUDA_ERROR;
}

int nccl_synchronize(void *stream)
{
    return has_driver() && calls.cuStreamSynchronize(stream) == 0
               ? NCCL_SUCCESS
               : NCCL_CUDA_ERROR;
}

bool nccl_is_captured(void *stream)
{
    int status = 0;

    return has_driver() && calls.cuStreamIsCapturing(stream, &status) == 0 &&
           status != 0;
}

void *nccl_context(void)
{
    void *context = NULL;

    return has_driver() && calls.cuCtxGetCurrent(&context) == 0 ? context
                                                                : NULL;
}

int nccl_device(void)
{
    int device = -1;

    return has_driver() && calls.cuCtxGetDevice(&device) == 0 ? device : -1;
}

void nccl_set_context(void *context)
{
    if (context != NULL && context != nccl_context())
        (void)calls.cuCtxSetCurrent(context);
}
