/* replay_foreign.h - recognises files that are often given by mistake instead
 * of a trace or a snapshot, by their first bytes. */
#ifndef LARDER_REPLAY_REPLAY_FOREIGN_H
#define LARDER_REPLAY_REPLAY_FOREIGN_H

#include <stddef.h>

/* What the file is, and what to do.  NULL: not recognised. */
const char *replay_foreign(const unsigned char *first, size_t count);

#endif
