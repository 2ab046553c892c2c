/* top_serve.h - `larder top` as a page, for browsers on this machine. */
#ifndef LARDER_CLI_TOP_SERVE_H
#define LARDER_CLI_TOP_SERVE_H

#include "top_data.h"

/* Listens on the loopback interface and prints the address, which contains an
 * unguessable token.  Samples the devices until a signal ends the process.  Returns an
 * exit status if it cannot start. */
int top_serve_run(const struct top_settings *settings);

#endif
