/* viewer_files.h - a snapshot as files for other programs that show memory.
 *
 * Each writes all devices, or only `device` if it is not VIEWER_ALL.  False: no
 * host memory, or writing failed; a part may have been written. */
#pragma once

#include <stdio.h>

#include "snapshot/snapshot.h"

#define VIEWER_ALL SIZE_MAX

/* A JSON trace of events for ui.perfetto.dev and chrome://tracing.
 *
 * A device is a process, with counters of requested, allocated and reserved
 * bytes; a slice for each larger allocation, from alloc to free_requested, with
 * its size, address and stack, those of a stream on as many parallel tracks as
 * needed; and instants for failed requests and annotations.  Times are the
 * recorded ones; a recording without times gets one microsecond for each
 * event. */
bool perfetto_write(const struct snapshot *s, size_t device, FILE *out,
                    struct tool_error *error);

/* Memory by call stack, with weights: as collapsed stacks, which flamegraph.pl,
 * inferno and speedscope read, and in speedscope's own format.  Weights are the
 * bytes allocated at a device's peak; speedscope's format also has the bytes
 * requested over the whole run. */
bool flames_write_collapsed(const struct snapshot *s, size_t device, FILE *out,
                            struct tool_error *error);
bool flames_write_speedscope(const struct snapshot *s, size_t device, FILE *out,
                             struct tool_error *error);
