/* nccl_collectives.c - collective operations with a single process present: the
 * result is as if all others held the same data, except that reductions leave
 * values unchanged.
 *
 * Copies go through the driver, in stream order. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "nccl_communicator.h"
#include "standin.h"

/* ncclResult_t */
enum { SUCCESS = 0, CUDA_ERROR = 1, INVALID_ARGUMENT = 4 };

typedef int copy_fn(uintptr_t to, uintptr_t from, size_t bytes, void *stream);

static copy_fn *driver_find_copy(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = driver == NULL ? NULL : dlsym(driver, "cuMemcpyAsync");
    copy_fn *copy = NULL;

    memcpy(&copy, &found, sizeof copy);
    return copy;
}

/* Searched until found; opening the library here keeps it loaded. */
static copy_fn *driver_copy(void)
{
    static _Atomic(copy_fn *) kept;
    copy_fn *copy = atomic_load(&kept);

    if (copy == NULL) {
        copy = driver_find_copy();
        atomic_store(&kept, copy);
    }
    return copy;
}

static int copy(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
    copy_fn *driver;

    if (to == from || bytes == 0)
        return SUCCESS;
    driver = driver_copy();
    if (driver == NULL || driver(to, from, bytes, stream) != 0)
        return CUDA_ERROR;
    return SUCCESS;
}

/* By ncclDataType_t: integers of 8, 32 and 64 bits, half, float, double,
 * bfloat16, and two 8-bit floats; 0 for others. */
static size_t element_bytes(int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

    if (type < 0 || (size_t)type >= sizeof bytes)
        return 0;
    return bytes[type];
}

STANDIN_OWN(int, ncclAllGather,
            (uintptr_t part, uintptr_t whole, size_t count, int type,
             const struct communicator *c, void *stream))
{
    size_t each = element_bytes(type);
    size_t bytes = count * each;
    int ranks = c != NULL && c->ranks > 0 ? c->ranks : 1;
    int result = each > 0 ? SUCCESS : INVALID_ARGUMENT;
    int i;

    for (i = 0; i < ranks && result == SUCCESS; i++)
        result = copy(whole + (size_t)i * bytes, part, bytes, stream);
    return result;
}

STANDIN_OWN(int, ncclReduceScatter,
            (uintptr_t whole, uintptr_t part, size_t count, int type,
             int operation, const struct communicator *c, void *stream))
{
    size_t bytes = count * element_bytes(type);
    size_t rank = c != NULL ? (size_t)c->rank : 0;

    (void)operation;
    return copy(part, whole + rank * bytes, bytes, stream);
}

STANDIN_OWN(int, ncclAllReduce,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int operation, const struct communicator *c, void *stream))
{
    (void)operation;
    (void)c;
    return copy(result, given, count * element_bytes(type), stream);
}

STANDIN_OWN(int, ncclReduce,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int operation, int root, const struct communicator *c,
             void *stream))
{
    (void)operation;
    if (c != NULL && c->rank != root)
        return SUCCESS;
    return copy(result, given, count * element_bytes(type), stream);
}

STANDIN_OWN(int, ncclBroadcast,
            (uintptr_t given, uintptr_t result, size_t count, int type,
             int root, const struct communicator *c, void *stream))
{
    if (c != NULL && c->rank != root)
        return SUCCESS;
    return copy(result, given, count * element_bytes(type), stream);
}
