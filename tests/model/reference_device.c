/* reference_device.c - the model's device: the lowest free address that fits,
 * in two regions, and a count of the bytes in use. */
#include "model/reference_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_STEP (2 * REF_MIB)
#define REGION_DISTANCE (UINT64_C(16) << 40)

static uint64_t device_bytes(uint64_t bytes)
{
    uint64_t step = bytes < REF_MIB ? 512 : DEVICE_STEP;

    return (bytes + step - 1) / step * step;
}

static uint64_t space_add(struct ref_space *s, uint64_t bytes)
{
    uint64_t addr = s->base;
    size_t i = 0;

    while (i < s->count && s->ranges[i].addr - addr < bytes) {
        addr = s->ranges[i].addr + s->ranges[i].bytes;
        i++;
    }
    s->ranges = ref_grow(s->ranges, s->count, &s->capacity, sizeof *s->ranges);
    memmove(s->ranges + i + 1, s->ranges + i,
            (s->count - i) * sizeof *s->ranges);
    s->ranges[i] = (struct ref_range){addr, bytes};
    s->count++;
    return addr;
}

/* Returns the bytes of the range. */
static uint64_t space_remove(struct ref_space *s, uint64_t addr)
{
    size_t i = 0;
    uint64_t bytes;

    while (i < s->count && s->ranges[i].addr != addr)
        i++;
    assert(i < s->count);
    bytes = s->ranges[i].bytes;
    s->count--;
    memmove(s->ranges + i, s->ranges + i + 1,
            (s->count - i) * sizeof *s->ranges);
    return bytes;
}

void ref_device_init(struct ref_device *d, uint64_t capacity)
{
    memset(d, 0, sizeof *d);
    d->capacity = capacity;
    d->memory.base = REFERENCE_ADDRESS_BASE;
    d->reserved.base = REFERENCE_ADDRESS_BASE + REGION_DISTANCE;
}

void ref_device_free(struct ref_device *d)
{
    free(d->memory.ranges);
    free(d->reserved.ranges);
}

bool ref_device_alloc(struct ref_device *d, uint64_t bytes, uint64_t *out)
{
    bytes = device_bytes(bytes);
    if (!ref_device_take_pages(d, bytes))
        return false;
    *out = space_add(&d->memory, bytes);
    return true;
}

void ref_device_release(struct ref_device *d, uint64_t addr)
{
    d->used -= space_remove(&d->memory, addr);
}

uint64_t ref_device_reserve(struct ref_device *d, uint64_t bytes)
{
    return space_add(&d->reserved, device_bytes(bytes));
}

void ref_device_unreserve(struct ref_device *d, uint64_t addr)
{
    space_remove(&d->reserved, addr);
}

bool ref_device_take_pages(struct ref_device *d, uint64_t bytes)
{
    if (bytes > d->capacity - d->used)
        return false;
    d->used += bytes;
    return true;
}

void ref_device_return_pages(struct ref_device *d, uint64_t bytes)
{
    d->used -= bytes;
}
