/* sim_card.h - cards by name, from data/cards/cards.tsv.  Private to the
 * simulated GPU and to the driver made of it. */
#pragma once

#include <stddef.h>

struct sim_card {
    const char *ids; /* separated by commas; the first is the card's id */
    const char *name;
    unsigned memory_mib;
    unsigned context_mib;
    int capability; /* 100 times the major number plus the minor one */
    int processors;
};

/* The table, made from the file by cmake/cards.cmake. */
extern const struct sim_card larder__sim_cards[];
extern const size_t larder__sim_card_count;

/* NULL: no card has this name.  Blanks, dashes, underscores and capitals make
 * no difference, nor do nvidia, tesla, geforce and rtx before it and gb after
 * it. */
const struct sim_card *larder__sim_card_find(const char *name);

/* The id of the card with the most similar name.  NULL: none is similar. */
const char *larder__sim_card_nearest(const char *name, char out[32]);
