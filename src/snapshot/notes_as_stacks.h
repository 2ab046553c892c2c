/* notes_as_stacks.h - attributes memory by the program's notes if no call
 * stacks were recorded. */
#pragma once

#include "snapshot/snapshot.h"

/* If no event and no block has a stack, give those with a text of the program
 * (user_metadata) a stack of one frame whose name is the text, without file and
 * line, and set stacks_are_notes.  Only for display: the snapshot then differs
 * from the file.  False: no host memory, and nothing changed. */
bool snapshot_notes_as_stacks(struct snapshot *s, struct tool_error *error);
