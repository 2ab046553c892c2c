/* sim_slots.c - objects with handles: pages and events of the simulated GPU. */
#include "device/sim_slots.h"

#include <stdbool.h>
#include <string.h>

#include "base/host.h"

/* So that a number can be stored together with two bits. */
enum { SLOTS_MAX = 1 << 29, SLOTS_FIRST = 64 };

void *larder__sim_slots_at(const struct sim_slots *slots, uint32_t number)
{
    return slots->items + number * slots->item_bytes;
}

uint32_t larder__sim_slots_number(const struct sim_slots *slots,
                                  const void *item)
{
    return (uint32_t)((size_t)((const char *)item - slots->items) /
                      slots->item_bytes);
}

uint64_t larder__sim_slots_handle(const struct sim_slots *slots,
                                  const void *item)
{
    const struct sim_slot *slot = item;

    return (uint64_t)slot->generation << 32 |
           (larder__sim_slots_number(slots, item) + 1);
}

void *larder__sim_slots_find(const struct sim_slots *slots, uint64_t handle)
{
    uint32_t number = (uint32_t)handle;
    struct sim_slot *slot;

    if (number == 0 || number > slots->count)
        return NULL;
    slot = larder__sim_slots_at(slots, number - 1);
    if (slot->next != SIM_SLOT_TAKEN || slot->generation != handle >> 32)
        return NULL;
    return slot;
}

static bool slots_grow(struct sim_slots *slots)
{
    uint32_t capacity =
        slots->capacity == 0 ? SLOTS_FIRST : 2 * slots->capacity;

    if (slots->capacity >= SLOTS_MAX ||
        !larder__host_grow(&slots->items, capacity, slots->item_bytes))
        return false;
    slots->capacity = capacity;
    return true;
}

void *larder__sim_slots_take(struct sim_slots *slots)
{
    struct sim_slot *slot;
    uint32_t generation = 0;

    if (slots->free != 0) {
        slot = larder__sim_slots_at(slots, slots->free - 1);
        slots->free = slot->next;
        generation = slot->generation;
    } else {
        if (slots->count == slots->capacity && !slots_grow(slots))
            return NULL;
        slot = larder__sim_slots_at(slots, slots->count++);
    }
    memset(slot, 0, slots->item_bytes);
    slot->generation = generation;
    slot->next = SIM_SLOT_TAKEN;
    slots->taken++;
    return slot;
}

void larder__sim_slots_release(struct sim_slots *slots, void *item)
{
    struct sim_slot *slot = item;

    slot->generation++;
    slot->next = slots->free;
    slots->free = larder__sim_slots_number(slots, item) + 1;
    slots->taken--;
}

void larder__sim_slots_free(struct sim_slots *slots)
{
    larder__host_free(slots->items);
    slots->items = NULL;
}
