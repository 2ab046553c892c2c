/* history_tables.h - call stacks and texts, each different one stored once.
 * Private to core. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- call stacks (stack_table.c) -------------------------------------------- */

/* A stack's number is its index in one array of words: its depth, then its
 * frames.  Stored stacks never change or move, so a number obtained under the
 * lock can be read without it. */
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

/* ---- texts that threads attach to their operations (annotation.c) ----------- */

/* Each thread has a stack of texts.  A history keeps each different text once,
 * under a 16-bit number, and the thread caches the number that its text has in
 * the history used last. */
struct text_table {
    char *bytes;     /* each at a multiple of 16, with a NUL */
    uint16_t *slots; /* hash table of numbers */
    uint32_t used;   /* in units of 16 bytes; number 0 means no text */
    uint64_t serial; /* of this table, unique in the process */
    uint64_t lost;
};

/* Make an empty table.  False: no host memory, and nothing to free. */
bool larder__texts_init(struct text_table *t);
void larder__texts_destroy(struct text_table *t);

/* The number of a text, truncated to LARDER_ANNOTATION_MAX bytes; 0 for "".  If
 * there is no room it is counted as lost, and the result is 0 as well. */
uint16_t larder__texts_put(struct text_table *t, const char *text);

/* "" for 0.  Stored texts never change or move. */
const char *larder__texts_get(const struct text_table *t, uint16_t number);

/* The number of this thread's text. */
uint16_t larder__annotation_now(struct text_table *t);
