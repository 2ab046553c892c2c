/* crew.h - threads that do numbered jobs, each taking the next. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/tool_error.h"

/* Called on any of the threads.  False: it failed, and *error says why. */
typedef bool crew_job(void *ctx, size_t number, struct tool_error *error);

/* Do jobs 0 to count - 1 on up to `threads` threads, of which this is one; on
 * fewer if they cannot be created.  False: a job failed.  Then *error is that
 * of the first, and jobs that had not begun are left out. */
bool crew_run(crew_job *job, void *ctx, size_t count, unsigned threads,
              struct tool_error *error);
