/* convert_trace.h - a trace as the snapshot that an allocator makes of it. */
#ifndef LARDER_CLI_CONVERT_TRACE_H
#define LARDER_CLI_CONVERT_TRACE_H

#include "replay/replay.h"

/* Replay a trace, as `options` say, with the allocator's history on, and have
 * it write its snapshot to `path`: JSON if that ends in .json, else a pickle.
 * The file appears whole or not at all. */
bool convert_trace_snapshot(const struct trace *t,
                            const struct replay_options *options,
                            const char *path, struct tool_error *error);

/* The same as a pickle in memory, the caller's to free(). */
bool convert_trace_pickle(const struct trace *t,
                          const struct replay_options *options, char **out,
                          size_t *size, struct tool_error *error);

#endif
