/* top_recorded.h - programs under `larder.record --live`, which hand out their
 * snapshot to who asks.
 *
 * Each listens on an abstract socket, larder-live-UID-PID, which goes when the
 * process does, and writes its snapshot to who connects; only to the same
 * user, as only the same user's are read. */
#ifndef LARDER_CLI_TOP_RECORDED_H
#define LARDER_CLI_TOP_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"

/* Print those that this user has, as elements of a JSON array. */
void top_recorded_print(FILE *out);

/* Write the page of larder view of what process `pid` has recorded so far.
 * False: the error has the reason. */
bool top_recorded_view(int64_t pid, FILE *out, struct tool_error *error);

#endif
