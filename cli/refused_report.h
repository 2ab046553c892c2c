/* refused_report.h - whether the request that failed in a recording would
 * succeed now, in words. */
#ifndef LARDER_CLI_REFUSED_REPORT_H
#define LARDER_CLI_REFUSED_REPORT_H

#include "replay/replay.h"

/* Prints nothing where no request failed. */
void refused_report_print(const char *path, const struct replay_snapshot *s);

#endif
