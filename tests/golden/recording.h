/* recording.h - a script and its result under each release of PyTorch, in a
 * file
 *
 *   # why
 *   conf: SETTINGS
 *   capacity: BYTES
 *   fraction: NUMBER
 *   events: manual or immediate
 *   script:
 *   its lines
 *   = VERSION...
 *   the result under all these releases
 *   = VERSION...
 *   ...
 */
#pragma once

#include "golden/script.h"

enum { RECORDING_GROUPS = 16, RECORDING_RUN = 1024 };

struct recording_group {
    char *versions; /* separated by blanks */
    char *lines;
};

struct recording {
    char *text; /* the file; all strings point into it */
    struct script script;
    struct recording_group groups[RECORDING_GROUPS];
    int group_count;
};

bool recording_read(const char *path, struct recording *out,
                    struct tool_error *error);
void recording_free(struct recording *r);

/* Put neighbouring lines that record events (`d event_record`), or complete
 * frees (`h 2`), in order: in PyTorch theirs is that of a hash table.
 * recordings.py does the same to what it writes. */
void recording_settle(char *lines);

/* The lines of the release; NULL: it was not recorded. */
const char *recording_of(const struct recording *r, const char *version);
