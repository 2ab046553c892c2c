/* annotation.h - texts that threads attach to their operations.  Private to
 * core.
 *
 * Each thread has a stack of texts.  A history keeps each different text once,
 * under a 16-bit number, and the thread caches the number that its text has in
 * the history used last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
