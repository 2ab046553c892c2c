/* snapshot_input.h - what report, diff and view look at: a snapshot, or the
 * one that a replay of a trace makes. */
#ifndef LARDER_CLI_SNAPSHOT_INPUT_H
#define LARDER_CLI_SNAPSHOT_INPUT_H

#include "replay/replay.h"
#include "snapshot/snapshot.h"

/* The snapshot that a replay of t as `options` say makes; t came from `path`.
 * The words of an error name that. */
bool snapshot_input_replay(const struct trace *t, const char *path,
                           const struct replay_options *options,
                           struct snapshot **out, struct tool_error *error);

/* A file ("-": the standard input), told apart by its content.  A trace is
 * replayed with the replay's own defaults. */
bool snapshot_input_read(const char *path, struct snapshot **out,
                         struct tool_error *error);

#endif
