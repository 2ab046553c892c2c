/* snap_cells.h - numbers a notebook's cells that have no number. */
#ifndef LARDER_SNAPSHOT_SNAP_CELLS_H
#define LARDER_SNAPSHOT_SNAP_CELLS_H

#include "snapshot/snap_builder.h"

/* A kernel names its cells by a hash of their content; they are numbered in the
 * order of their frames.  All frames must have been read.  O(frames and
 * strings). */
void snap_cells_number(struct snap_builder *b);

#endif
