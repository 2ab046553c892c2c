/* top_screen.h - the live table. */
#ifndef LARDER_CLI_TOP_SCREEN_H
#define LARDER_CLI_TOP_SCREEN_H

#include "top_data.h"

/* Until the user leaves it.  `filter` is where it begins. */
int top_screen_run(enum top_order order, const char *filter,
                   unsigned period_ms);

#endif
