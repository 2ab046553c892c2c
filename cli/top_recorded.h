/* top_recorded.h - programs under `larder.record --live`, which provide their
 * snapshot on request.
 *
 * Each listens on an abstract socket, larder-live-UID-PID, which disappears
 * with the process, and writes its snapshot to every connection of the same
 * user.  Only the same user's sockets are read. */
#ifndef LARDER_CLI_TOP_RECORDED_H
#define LARDER_CLI_TOP_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "snapshot/snapshot.h"

/* Print this user's programs, as elements of a JSON array. */
void top_recorded_print(FILE *out);

/* Write the page of larder view for the recording of process `pid` so far.
 * False: the error has the reason. */
bool top_recorded_view(int64_t pid, FILE *out, struct tool_error *error);

#endif
