/* report_cure.h - settings under which a run that ran out of memory would not
 * have, for the report: found by replaying it. */
#ifndef LARDER_CLI_REPORT_CURE_H
#define LARDER_CLI_REPORT_CURE_H

#include "report/verdict.h"

/* As report_cure.find; `ctx` is nothing.  A run of very many events is left
 * to `larder tune`. */
char *report_cure_find(void *ctx, const struct snapshot *s, size_t device);

#endif
