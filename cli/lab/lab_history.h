/* lab_history.h - the history of a session, so that its snapshots say what
 * happened and which statement did it. */
#ifndef CLI_LAB_LAB_HISTORY_H
#define CLI_LAB_LAB_HISTORY_H

#include <stdbool.h>

#include <larder/lab.h>

/* Record from now on.  The result is that of larder_history_start(). */
larder_result lab_history_begin(lab *l);

/* A statement ends here: a mark that cannot be kept is no reason to stop. */
void lab_history_mark(lab *l, const char *statement);

/* A statement begins here: a mark, and what follows until
 * lab_history_note_end() carries its text. */
void lab_history_note(lab *l, const char *statement);
void lab_history_note_end(void);

/* "FILE.json" or "FILE.pickle". */
bool lab_history_name_ok(const char *path);

/* Segments, blocks and events; larder_last_error() says why it failed. */
larder_result lab_history_write(lab *l, const char *path);

#endif
