/* convert_trace.h - converts a trace to the snapshot of an allocator that ran
 * it. */
#pragma once

#include "replay/replay.h"

/* Replay a trace as `options` say, with the allocator's history on, and let it
 * write its snapshot to `path`: JSON if the name ends in .json, otherwise a
 * pickle.  The file appears complete or not at all. */
bool convert_trace_snapshot(const struct trace *t,
                            const struct replay_options *options,
                            const char *path, struct tool_error *error);

/* The same as a pickle in memory, which the caller frees. */
bool convert_trace_pickle(const struct trace *t,
                          const struct replay_options *options, char **out,
                          size_t *size, struct tool_error *error);
