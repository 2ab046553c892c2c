/* sim_slots.h - objects with handles: pages and events of the simulated GPU.  A
 * handle is never 0 and never reused, so the handle of a destroyed object is
 * recognised.  Private to the simulated GPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first member of each object. */
struct sim_slot {
    uint32_t generation;
    uint32_t next; /* next free slot's number + 1, or SIM_SLOT_TAKEN */
};

#define SIM_SLOT_TAKEN UINT32_MAX

struct sim_slots {
    char *items;
    size_t item_bytes;
    uint32_t count; /* number of slots ever used */
    uint32_t capacity;
    uint32_t free; /* first free slot's number + 1 */
    uint32_t taken;
};

/* A new object, zeroed except for its slot.  NULL: no host memory.  Other
 * objects may move. */
void *larder__sim_slots_take(struct sim_slots *slots);
void larder__sim_slots_release(struct sim_slots *slots, void *item);
void larder__sim_slots_free(struct sim_slots *slots);

/* NULL: it does not exist, or no longer. */
void *larder__sim_slots_find(const struct sim_slots *slots, uint64_t handle);
void *larder__sim_slots_at(const struct sim_slots *slots, uint32_t number);

uint64_t larder__sim_slots_handle(const struct sim_slots *slots,
                                  const void *item);
uint32_t larder__sim_slots_number(const struct sim_slots *slots,
                                  const void *item);
