/* cpu_allocator.c - an allocator for PyTorch's host tensors that takes its
 * memory from the plug-in, so that a PyTorch without CUDA also meets the
 * plug-in's exceptions in its own code, under a call from Python.
 *
 * It is a c10::Allocator as the C++ ABI lays it out: a pointer to its vtable,
 * with allocate() after the two destructors. */
#include <stddef.h>

typedef void *alloc_fn(size_t, int, void *);

static alloc_fn *ask;

static void nothing(void)
{
}

/* A failing allocation passes through here as an exception, and leaves what
 * `result` points to unset.  Only requests that fail are tried. */
static void *allocate(void *result, void *self, size_t bytes)
{
    (void)self;
    ask(bytes, 0, NULL);
    return result;
}

typedef void table_entry(void);

static table_entry *const table[] = {
    nothing, nothing, (table_entry *)allocate, nothing, nothing, nothing,
    nothing, nothing,
};

static struct {
    table_entry *const *table;
    void *more[7];
} allocator = {.table = table};

void *cpu_allocator(alloc_fn *fn);

void *cpu_allocator(alloc_fn *fn)
{
    ask = fn;
    return &allocator;
}
