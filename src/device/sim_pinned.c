/* sim_pinned.c - pinned host memory: which addresses are allocated, so that
 * freeing any other is an error, as a driver's is, and not the end of the
 * process. */
#include "device/sim_device.h"

#include <inttypes.h>
#include <string.h>

#include "base/host.h"
#include "device/sim_fail.h"

/* The place of the first address that is not below ptr. */
static size_t pinned_place(const struct sim_pinned *pinned, const void *ptr)
{
    size_t low = 0;
    size_t high = pinned->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)pinned->list[middle] < (uintptr_t)ptr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

larder_result larder__sim_pinned_alloc(struct sim *sim, uint64_t bytes,
                                       void **out)
{
    struct sim_pinned *pinned = &sim->pinned;
    void *ptr;
    size_t place;

    if (!HOST_ROOM(pinned->list, pinned->capacity, pinned->count + 1) ||
        (ptr = larder__host_alloc_aligned(4096, bytes)) == NULL)
        return larder__sim_fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    place = pinned_place(pinned, ptr);
    memmove(&pinned->list[place + 1], &pinned->list[place],
            (pinned->count - place) * sizeof *pinned->list);
    pinned->list[place] = ptr;
    pinned->count++;
    *out = ptr;
    return LARDER_OK;
}

larder_result larder__sim_pinned_free(struct sim *sim, void *ptr)
{
    struct sim_pinned *pinned = &sim->pinned;
    size_t place = pinned_place(pinned, ptr);
    larder_result r;

    if (place == pinned->count || pinned->list[place] != ptr)
        return larder__sim_fail(LARDER_ERR_DEVICE,
                                "no pinned memory begins at 0x%" PRIxPTR,
                                (uintptr_t)ptr);
    if ((r = larder__sim_streams_wait(sim)) != LARDER_OK)
        return r;
    pinned->count--;
    memmove(&pinned->list[place], &pinned->list[place + 1],
            (pinned->count - place) * sizeof *pinned->list);
    larder__host_free(ptr);
    return LARDER_OK;
}

/* What was not freed stays: queued work of other devices may use it. */
void larder__sim_pinned_close(struct sim *sim)
{
    larder__host_free(sim->pinned.list);
}
