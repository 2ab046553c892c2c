/* annotation.h - texts that threads attach to what they do.  Private to core.
 *
 * A thread has a stack of texts of its own; a history keeps each different
 * one once, under a number of 16 bits.  The thread remembers the number its
 * text has in the history it was last asked for. */
#ifndef LARDER_CORE_ANNOTATION_H
#define LARDER_CORE_ANNOTATION_H

#include <stdbool.h>
#include <stdint.h>

struct text_table {
    char *bytes;     /* each text at a multiple of 16, with a NUL after it */
    uint16_t *slots; /* hash table of numbers */
    uint32_t used;   /* in steps of 16 bytes; number 0 means no text */
    uint64_t serial; /* of this table, in the process */
    uint64_t lost;
};

bool larder__texts_init(struct text_table *t);
void larder__texts_destroy(struct text_table *t);

/* The number of a text, cut at LARDER_ANNOTATION_MAX bytes; 0 for "", or,
 * counted as lost, if there is no room. */
uint16_t larder__texts_put(struct text_table *t, const char *text);

/* "" for 0.  What is there never changes or moves. */
const char *larder__texts_get(const struct text_table *t, uint16_t number);

/* The number of this thread's text. */
uint16_t larder__annotation_now(struct text_table *t);

#endif
