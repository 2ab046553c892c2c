/* snap_cells.h - the cells of a notebook: numbering those that have no number. */
#ifndef LARDER_SNAPSHOT_SNAP_CELLS_H
#define LARDER_SNAPSHOT_SNAP_CELLS_H

#include "snapshot/snap_builder.h"

/* A kernel names its cells by a hash of their content: they are counted as their
 * frames come.  All frames are there.  O(frames and strings). */
bool snap_cells_number(struct snap_builder *b);

#endif
