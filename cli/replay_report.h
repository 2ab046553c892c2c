/* replay_report.h - the result of `larder replay` as text. */
#ifndef LARDER_CLI_REPLAY_REPORT_H
#define LARDER_CLI_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/replay.h"

/* Print the jobs that succeeded as a table, with explanations below it.  False:
 * no host memory. */
bool replay_report_print(const struct replay_job *jobs, size_t count,
                         const struct replay_options *options);

#endif
