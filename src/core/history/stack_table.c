/* stack_table.c - call stacks, each different one stored once. */
#include "core/history/history_tables.h"

#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/host.h"

enum { WORDS_PER_STACK = 4, STACK_WORDS_MIN = 256 };

bool larder__stacks_init(struct stack_table *t, uint64_t bytes)
{
    uint64_t words = bytes / sizeof *t->words;
    uint32_t slots;

    if (words < STACK_WORDS_MIN)
        words = STACK_WORDS_MIN;
    /* Stacks have more than WORDS_PER_STACK words on average, or the words run
     * out first; so at most half of the slots are used. */
    slots = UINT32_C(2) << bits_log2(words / WORDS_PER_STACK);
    *t = (struct stack_table){
        .capacity = (uint32_t)words, .used = 1, .slot_mask = slots - 1};
    t->words = larder__host_alloc(words, sizeof *t->words);
    t->slots = larder__host_alloc(slots, sizeof *t->slots);
    if (t->words != NULL && t->slots != NULL)
        return true;
    larder__stacks_destroy(t);
    return false;
}

void larder__stacks_destroy(struct stack_table *t)
{
    larder__host_free(t->words);
    larder__host_free(t->slots);
    *t = (struct stack_table){0};
}

static uint64_t stack_hash(const uint64_t *frames, size_t depth)
{
    uint64_t h = depth;

    for (size_t i = 0; i < depth; i++) {
        h = (h ^ frames[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    return h;
}

static bool stack_is(const struct stack_table *t, uint32_t number,
                     const uint64_t *frames, size_t depth)
{
    return t->words[number] == depth &&
           memcmp(&t->words[number + 1], frames, depth * sizeof *frames) == 0;
}

uint32_t larder__stacks_put(struct stack_table *t, const uint64_t *frames,
                            size_t depth)
{
    uint32_t slot;
    uint32_t number;

    if (depth == 0)
        return 0;
    larder__assert(t->count <= t->slot_mask / 2); /* one is empty */
    slot = (uint32_t)stack_hash(frames, depth) & t->slot_mask;
    while ((number = t->slots[slot]) != 0) {
        if (stack_is(t, number, frames, depth))
            return number;
        slot = (slot + 1) & t->slot_mask;
    }
    if (t->capacity - t->used <= depth || t->count >= t->slot_mask / 2) {
        t->lost++;
        return 0;
    }
    larder__assert(t->slots[slot] == 0);
    number = t->used;
    t->words[number] = depth;
    memcpy(&t->words[number + 1], frames, depth * sizeof *frames);
    t->used += (uint32_t)depth + 1;
    t->slots[slot] = number;
    t->count++;
    larder__assert(t->used <= t->capacity);
    larder__assert(stack_is(t, number, frames, depth));
    return number;
}
