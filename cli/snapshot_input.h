/* snapshot_input.h - the input of report, diff and view: a snapshot, or the one
 * that replaying a trace produces. */
#pragma once

#include "replay/replay.h"
#include "snapshot/snapshot.h"

/* Replay a trace as `options` say, with the allocator's history on, and let it
 * write its snapshot to `path`: JSON if the name ends in .json, otherwise a
 * pickle.  The file appears complete or not at all. */
bool snapshot_input_write(const struct trace *t,
                          const struct replay_options *options,
                          const char *path, struct tool_error *error);

/* The snapshot produced by replaying t as `options` say. `path` is t's origin,
 * for messages. */
bool snapshot_input_replay(const struct trace *t, const char *path,
                           const struct replay_options *options,
                           struct snapshot **out, struct tool_error *error);

/* Read a snapshot that is in memory; `name` is for messages. */
bool snapshot_input_read_memory(const void *bytes, size_t size,
                                const char *name, struct snapshot **out,
                                struct tool_error *error);

/* Read a file ("-": the standard input), recognised by its content.  A trace is
 * replayed with the replay's defaults. */
bool snapshot_input_read(const char *path, struct snapshot **out,
                         struct tool_error *error);
