/* snapshot_write.h - writes snapshots that PyTorch's viewers can open. */
#pragma once

#include <stdio.h>

#include "snapshot/snapshot.h"

/* Write a pickle of protocol 4, with the opcodes that PyTorch's MemoryViz.js
 * knows; strings, frames, stacks and pools are written once and referred to.
 * Reading it back gives the same contents, except for the order of numbers.
 * Unknown keys come after the others; values that are not plain data are left
 * out (snap_rest.h).  Keys whose `has` bit is not set are not written.
 *
 * Written incrementally: needs 4 bytes for each string, frame, stack and pool.
 * False: no memory, or writing failed; a part may have been written. */
bool snapshot_write_pickle(const struct snapshot *s, FILE *out,
                           struct tool_error *error);

/* Write only the list of segments, as a pickle: the result of
 * memory_snapshot(), which the _memory_viz.py of PyTorch 1.13 (Debian 12)
 * opens. */
bool snapshot_write_segments(const struct snapshot *s, FILE *out,
                             struct tool_error *error);

/* Write JSON as json.dump() does, but each frame and stack once: "frames" and
 * "stacks" (lists of frame numbers) come first, and the "frames" of an event or
 * block is a stack's number. */
bool snapshot_write_json(const struct snapshot *s, FILE *out,
                         struct tool_error *error);
