/* top_screen.h - the live table. */
#ifndef LARDER_CLI_TOP_SCREEN_H
#define LARDER_CLI_TOP_SCREEN_H

#include "top_data.h"

/* Runs until the user quits.  The order and the filter are the initial ones. */
int top_screen_run(const struct top_settings *settings);

#endif
