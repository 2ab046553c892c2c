/* top_past.h - what `larder top` saw in the last minutes, as JSON: each look is
 * kept as the text that the page reads. */
#ifndef LARDER_CLI_TOP_PAST_H
#define LARDER_CLI_TOP_PAST_H

#include <stdint.h>
#include <stdio.h>

#include "top_data.h"

enum { TOP_PAST_LOOKS = 600 };

struct top_past {
    uint64_t count; /* of all looks; the last TOP_PAST_LOOKS are kept */
    char *looks[TOP_PAST_LOOKS];
};

/* Keep a look.  Without host memory it is left out. */
void top_past_add(struct top_past *past, const struct top_data *data);

/* Print those after the first `after` of all, as elements of an array. */
void top_past_print(const struct top_past *past, uint64_t after, FILE *out);

#endif
