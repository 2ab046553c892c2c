/* perfetto.h - a snapshot as a trace of events in JSON, which ui.perfetto.dev
 * and chrome://tracing open.
 *
 * A device is a process: counters of requested, allocated and reserved bytes;
 * a slice for each of the larger allocations, from alloc to free_requested,
 * with its size, address and stack, those of a stream on as many tracks as are
 * needed side by side; instants for failed requests and annotations.  Times
 * are the recorded ones; a recording without has a microsecond an event. */
#ifndef LARDER_CONVERT_PERFETTO_H
#define LARDER_CONVERT_PERFETTO_H

#include <stdio.h>

#include "snapshot/snapshot.h"

/* All devices, or only `device` if it is not PERFETTO_ALL.  False: no host
 * memory, or writing failed; some may have been written. */
#define PERFETTO_ALL SIZE_MAX
bool perfetto_write(const struct snapshot *s, size_t device, FILE *out,
                    struct tool_error *error);

#endif
