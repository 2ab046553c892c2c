/* replay_report.h - the result of `larder replay` as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "replay/replay.h"

/* Print the jobs that succeeded as a table, with explanations below it.  False:
 * no host memory. */
bool replay_report_print(const struct replay_job *jobs, size_t count,
                         const struct replay_options *options);
