/* report_cure.h - finds settings for the report under which a run would not
 * have run out of memory, by replaying it. */
#ifndef LARDER_CLI_REPORT_CURE_H
#define LARDER_CLI_REPORT_CURE_H

#include "report/verdict.h"

/* Implements report_cure.find; `ctx` is unused.  Runs with very many events are
 * left to `larder tune`. */
char *report_cure_find(void *ctx, const struct snapshot *s, size_t device,
                       uint64_t *saves);

#endif
