/* stack_table.h - call stacks, each different one stored once.  Private to
 * core.
 *
 * A stack's number is its index in one array of words: its depth, then its
 * frames.  Stored stacks never change or move, so a number obtained under the
 * lock can be read without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_table {
    uint64_t *words;
    uint32_t capacity; /* words */
    uint32_t used;     /* number 0 means no stack */
    uint32_t *slots;   /* hash table of numbers */
    uint32_t slot_mask;
    uint64_t count;
    uint64_t lost;
};

/* Uses `bytes` for stacks, and a quarter more for the hash table. */
bool larder__stacks_init(struct stack_table *t, uint64_t bytes);
void larder__stacks_destroy(struct stack_table *t);

/* The number of this stack.  0: there is no room, and it is counted as lost. */
uint32_t larder__stacks_put(struct stack_table *t, const uint64_t *frames,
                            size_t depth);

static inline size_t stack_depth(const struct stack_table *t, uint32_t number)
{
    return number == 0 ? 0 : t->words[number];
}

static inline const uint64_t *stack_frames(const struct stack_table *t,
                                           uint32_t number)
{
    return number == 0 ? NULL : &t->words[number + 1];
}
