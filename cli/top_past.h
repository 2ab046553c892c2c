/* top_past.h - the history of the last minutes in `larder top`, as JSON: each
 * sample is kept as the text that the page reads. */
#ifndef LARDER_CLI_TOP_PAST_H
#define LARDER_CLI_TOP_PAST_H

#include <stdint.h>
#include <stdio.h>

#include "top_data.h"

enum { TOP_PAST_LOOKS = 600 };

struct top_past {
    uint64_t count; /* of all samples; the last TOP_PAST_LOOKS are kept */
    char *looks[TOP_PAST_LOOKS];
};

/* Keep a sample.  Without host memory it is dropped. */
void top_past_add(struct top_past *past, const struct top_data *data);

/* Print the samples after the first `after` ones, as elements of an array. */
void top_past_print(const struct top_past *past, uint64_t after, FILE *out);

#endif
