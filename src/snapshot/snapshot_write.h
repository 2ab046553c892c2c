/* snapshot_write.h - snapshots to files that PyTorch's viewers open. */
#ifndef LARDER_SNAPSHOT_SNAPSHOT_WRITE_H
#define LARDER_SNAPSHOT_SNAPSHOT_WRITE_H

#include <stdio.h>

#include "snapshot/snapshot.h"

/* As a pickle of protocol 4, in the opcodes that PyTorch's MemoryViz.js knows;
 * strings, frames, stacks and pools are written once and referred to.  What is
 * read back is the same but for the order in which things are numbered.  Keys
 * that were unknown come after the others; a value that was no plain data is
 * left out (snap_rest.h).  What a `has` bit denies is not written.
 *
 * Written as it goes: memory is 4 bytes for each string, frame, stack and
 * pool.  False: no memory, or writing failed; some may have been written. */
bool snapshot_write_pickle(const struct snapshot *s, FILE *out,
                           struct tool_error *error);

/* The list of segments alone, as a pickle: what memory_snapshot() returns, and
 * what the _memory_viz.py of PyTorch 1.13 (Debian 12's) opens. */
bool snapshot_write_segments(const struct snapshot *s, FILE *out,
                             struct tool_error *error);

/* As json.dump() writes it, but each frame and stack once: "frames" and
 * "stacks" (lists of numbers of frames) come first, and the "frames" of an event
 * or block is the number of a stack. */
bool snapshot_write_json(const struct snapshot *s, FILE *out,
                         struct tool_error *error);

#endif
