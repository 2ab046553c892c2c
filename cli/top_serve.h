/* top_serve.h - `larder top` as a page, for browsers on this machine. */
#ifndef LARDER_CLI_TOP_SERVE_H
#define LARDER_CLI_TOP_SERVE_H

#include "top_data.h"

/* Listens on the loopback interface, at `port` (0: any), and prints the
 * address, which contains an unguessable token.  Samples the devices every
 * `period_ms`, with their processes in this order and filtered by these words,
 * until a signal ends the process.  Returns an exit status if it cannot
 * start. */
int top_serve_run(unsigned port, unsigned period_ms, enum top_order order,
                  const char *filter);

#endif
