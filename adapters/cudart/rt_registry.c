/* rt_registry.c - a program's own device code: images, functions and variables,
 * registered before main() and loaded at first use.
 *
 * A large program registers a hundred thousand functions: they are found by the
 * addresses of their host stubs, in a hash table that grows. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rt_state.h"

struct image {
    void *data;
    void *library; /* the driver's; NULL: not loaded yet */
};

enum entry_kind { ENTRY_FREE, ENTRY_FUNCTION, ENTRY_VARIABLE };

struct entry {
    const void *host; /* the key */
    enum entry_kind kind;
    struct image *image;
    const char *name;
    void *kernel;  /* NULL: not looked up yet */
    cud_addr addr; /* 0: not allocated yet */
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t capacity; /* a power of two */
static size_t used;

/* ---- the table ------------------------------------------------------------------ */

/* The slot of the key, or the free one where it belongs. */
static struct entry *rt_registry_slot_of(struct entry *table, size_t size,
                                         const void *host)
{
    size_t at =
        (size_t)(((uintptr_t)host >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20) &
        (size - 1);

    while (table[at].kind != ENTRY_FREE && table[at].host != host)
        at = (at + 1) & (size - 1);
    return &table[at];
}

static bool rt_registry_grow(void)
{
    size_t size = capacity == 0 ? 1024 : 2 * capacity;
    struct entry *table = calloc(size, sizeof *table);

    if (table == NULL)
        return false;
    for (size_t i = 0; i < capacity; i++) {
        if (entries[i].kind != ENTRY_FREE)
            *rt_registry_slot_of(table, size, entries[i].host) = entries[i];
    }
    free(entries);
    entries = table;
    capacity = size;
    return true;
}

/* If there is no room the entry is lost, and its first use reports that. */
static void keep(const struct entry *e)
{
    struct entry *slot;

    pthread_mutex_lock(&lock);
    if (2 * (used + 1) <= capacity || rt_registry_grow()) {
        slot = rt_registry_slot_of(entries, capacity, e->host);
        used += slot->kind == ENTRY_FREE;
        *slot = *e;
    }
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct entry *rt_registry_find(const void *host, enum entry_kind kind)
{
    struct entry *e =
        capacity == 0 ? NULL : rt_registry_slot_of(entries, capacity, host);

    return e != NULL && e->kind == kind ? e : NULL;
}

/* ---- registering ------------------------------------------------------------------ */

/* Called before main(), when the driver is not loaded yet. */
void **__cudaRegisterFatBinary(void *data)
{
    struct image *image = calloc(1, sizeof *image);

    if (image != NULL)
        image->data = data;
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **image)
{
    (void)image;
}

/* Called when the program ends; the driver may be gone already. */
void __cudaUnregisterFatBinary(void **image)
{
    (void)image;
}

char __cudaInitModule(void **image)
{
    (void)image;
    return 1;
}

void __cudaRegisterFunction(void **image, const char *host, char *device,
                            const char *name, int threads, void *thread,
                            void *block, void *block_size, void *grid_size,
                            int *warp)
{
    struct entry e = {.host = host,
                      .kind = ENTRY_FUNCTION,
                      .image = (struct image *)image,
                      .name = name};

    (void)device;
    (void)threads;
    (void)thread;
    (void)block;
    (void)block_size;
    (void)grid_size;
    (void)warp;
    keep(&e);
}

void __cudaRegisterVar(void **image, char *host, char *device, const char *name,
                       int is_external, size_t bytes, int is_constant,
                       int is_global)
{
    struct entry e = {.host = host,
                      .kind = ENTRY_VARIABLE,
                      .image = (struct image *)image,
                      .name = name,
                      .bytes = bytes};

    (void)device;
    (void)is_external;
    (void)is_constant;
    (void)is_global;
    keep(&e);
}

/* The program accesses it through a pointer, so it needs memory now. */
void __cudaRegisterManagedVar(void **image, void **host, char *device,
                              const char *name, int is_external, size_t bytes,
                              int is_constant, int is_global)
{
    *host = calloc(1, bytes);
    __cudaRegisterVar(image, (char *)host, device, name, is_external, bytes,
                      is_constant, is_global);
}

/* ---- lookup -------------------------------------------------------------------- */

static int image_load(struct image *image)
{
    if (image == NULL)
        return RT_OUT_OF_MEMORY;
    return image->library != NULL
               ? CUD_SUCCESS
               : cuLibraryLoadData(&image->library, image->data, NULL, NULL, 0,
                                   NULL, NULL, 0);
}

static int kernel_load(struct entry *e)
{
    int answer;

    if (e->kernel != NULL)
        return CUD_SUCCESS;
    answer = image_load(e->image);
    return answer == CUD_SUCCESS
               ? cuLibraryGetKernel(&e->kernel, e->image->library, e->name)
               : answer;
}

int rt_kernel_of(const void *function, void **out)
{
    int answer = CUD_SUCCESS;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = rt_registry_find(function, ENTRY_FUNCTION);
    if (e != NULL)
        answer = kernel_load(e);
    *out = e != NULL ? e->kernel : (void *)function;
    pthread_mutex_unlock(&lock);
    if (e == NULL && cuKernelGetFunction(out, *out) != CUD_SUCCESS)
        return RT_INVALID_FUNCTION;
    return answer;
}

int rt_symbol_of(const void *symbol, cud_addr *out, size_t *bytes)
{
    int answer = RT_INVALID_SYMBOL;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = rt_registry_find(symbol, ENTRY_VARIABLE);
    if (e != NULL)
        answer = e->addr != 0 ? CUD_SUCCESS : cuMemAlloc_v2(&e->addr, e->bytes);
    if (answer == CUD_SUCCESS) {
        *out = e->addr;
        *bytes = e->bytes;
    }
    pthread_mutex_unlock(&lock);
    return answer;
}

void rt_symbols_forget(void)
{
    enum { POINTER_DEVICE = 9 };
    int device;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < capacity; i++) {
        if (entries[i].addr != 0 &&
            cuPointerGetAttribute(&device, POINTER_DEVICE, entries[i].addr) !=
                CUD_SUCCESS)
            entries[i].addr = 0;
    }
    pthread_mutex_unlock(&lock);
}

int cudaGetSymbolAddress(void **out, const void *symbol)
{
    cud_addr addr = 0;
    size_t bytes;
    int answer = rt_begin();

    if (answer == CUD_SUCCESS)
        answer = rt_symbol_of(symbol, &addr, &bytes);
    return rt_end_with(answer, addr, out);
}

int cudaGetSymbolSize(size_t *out, const void *symbol)
{
    cud_addr addr = 0;

    RT_PASS(rt_symbol_of(symbol, &addr, out));
}
