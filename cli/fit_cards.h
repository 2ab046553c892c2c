/* fit_cards.h - `larder fit --gpu all`: every card by name, and on which of them
 * a recorded job fits. */
#pragma once

#include <larder/device.h>

#include "table.h"
#include "tune/tune.h"

struct named_card {
    char name[64]; /* as --gpu takes it */
    larder_device_props card;
};

struct named_cards {
    struct named_card *items; /* least memory for a process first */
    size_t count;
};

/* False: no host memory.  Call named_cards_free() in any case. */
bool named_cards_make(struct named_cards *out);
void named_cards_free(struct named_cards *cards);

struct fit_cards {
    struct table table;
    FILE *json; /* NULL: as text */
    char *text; /* of that, malloc'd */
    size_t length;
    size_t count;
    bool fits_one; /* as it is */
};

/* False: no host memory.  Call fit_cards_free() in any case. */
bool fit_cards_begin(struct fit_cards *f, bool as_json);
bool fit_cards_add(struct fit_cards *f, const struct named_card *card,
                   const struct tune *t);
/* Print all; `last` has what they have in common. */
bool fit_cards_print(struct fit_cards *f, const struct tune *last);
void fit_cards_free(struct fit_cards *f);
