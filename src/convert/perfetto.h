/* perfetto.h - a snapshot as a JSON trace of events for ui.perfetto.dev and
 * chrome://tracing.
 *
 * A device is a process, with counters of requested, allocated and reserved
 * bytes; a slice for each larger allocation, from alloc to free_requested, with
 * its size, address and stack, those of a stream on as many parallel tracks as
 * needed; and instants for failed requests and annotations.  Times are the
 * recorded ones; a recording without times gets one microsecond for each
 * event. */
#pragma once

#include <stdio.h>

#include "snapshot/snapshot.h"

/* All devices, or only `device` if it is not PERFETTO_ALL.  False: no host
 * memory, or writing failed; a part may have been written. */
#define PERFETTO_ALL SIZE_MAX
bool perfetto_write(const struct snapshot *s, size_t device, FILE *out,
                    struct tool_error *error);
