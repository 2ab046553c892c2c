/* top_text.h - the one-time output of `larder top`, for people and for
 * programs. */
#ifndef LARDER_CLI_TOP_TEXT_H
#define LARDER_CLI_TOP_TEXT_H

#include "top_data.h"

/* False: no host memory. */
bool top_print_table(const struct top_data *data);
/* One object on a line for each device. */
bool top_print_json(const struct top_data *data);
/* The devices as an array, to be freed.  NULL: no host memory. */
char *top_json(const struct top_data *data);

#endif
