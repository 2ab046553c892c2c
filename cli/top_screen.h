/* top_screen.h - the live table. */
#ifndef LARDER_CLI_TOP_SCREEN_H
#define LARDER_CLI_TOP_SCREEN_H

#include "top_data.h"

/* Runs until the user quits. `filter` is the initial filter. */
int top_screen_run(enum top_order order, const char *filter,
                   unsigned period_ms);

#endif
