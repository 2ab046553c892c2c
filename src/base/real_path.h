/* real_path.h - what a path that is to be written leads to.  Private to the
 * library. */
#ifndef LARDER_BASE_REAL_PATH_H
#define LARDER_BASE_REAL_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Follow the links of `path`, the last one too, also where nothing is at its
 * end: into out, of `room` bytes.  *fd: the descriptor of this process that it
 * names, else -1.  False: errno says why; EACCES where another user could have
 * put a link in the way. */
bool larder__real_path(const char *path, char *out, size_t room, int *fd);

#endif
