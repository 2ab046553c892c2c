/* refused_report.h - describes whether the request that failed in a recording
 * would succeed now. */
#ifndef LARDER_CLI_REFUSED_REPORT_H
#define LARDER_CLI_REFUSED_REPORT_H

#include "replay/replay.h"

/* Prints nothing if no request failed. */
void refused_report_print(const char *path, const struct replay_snapshot *s);

#endif
