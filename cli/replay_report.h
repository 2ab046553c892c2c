/* replay_report.h - the outcome of `larder replay` as people read it. */
#ifndef LARDER_CLI_REPLAY_REPORT_H
#define LARDER_CLI_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/replay.h"

/* Print the jobs that went well as a table, and what there is to explain
 * below it.  False: no host memory. */
bool replay_report_print(const struct replay_job *jobs, size_t count,
                         const struct replay_options *options);

#endif
