/* lab_history.h - the history of an experiment's session, so that its snapshot
 * shows events and marks the statements that caused them. */
#ifndef LARDER_CLI_LAB_LAB_HISTORY_H
#define LARDER_CLI_LAB_LAB_HISTORY_H

#include <stdbool.h>

#include <larder/lab.h>

/* Record from now on.  The result is that of larder_history_start(). */
larder_result lab_history_begin(lab *l);

/* A statement ends here.  If the mark cannot be recorded the session
 * continues. */
void lab_history_mark(lab *l, const char *statement);

/* "FILE.json" or "FILE.pickle". */
bool lab_history_name_ok(const char *path);

/* Write segments, blocks and events; larder_last_error() has the reason of a
 * failure. */
larder_result lab_history_write(lab *l, const char *path);

#endif
