/* replay_foreign.h - files that are often given in place of a trace or a
 * snapshot, told by their first bytes. */
#ifndef LARDER_REPLAY_REPLAY_FOREIGN_H
#define LARDER_REPLAY_REPLAY_FOREIGN_H

#include <stddef.h>

/* What it is, in words, and what to do; NULL: nothing that is known. */
const char *replay_foreign(const unsigned char *first, size_t count);

#endif
