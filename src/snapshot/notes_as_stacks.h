/* notes_as_stacks.h - who asked for memory, where no call paths were recorded
 * but the program said what it was doing. */
#ifndef LARDER_SNAPSHOT_NOTES_AS_STACKS_H
#define LARDER_SNAPSHOT_NOTES_AS_STACKS_H

#include "snapshot/snapshot.h"

/* If no event and no block has a stack, give those with a text of the
 * program's (user_metadata) a stack of one frame that has the text as its name
 * and neither file nor line, and set stacks_are_notes.  For showing alone: such
 * a snapshot is not what the file holds.  False: no host memory, and nothing
 * changed. */
bool snapshot_notes_as_stacks(struct snapshot *s, struct tool_error *error);

#endif
