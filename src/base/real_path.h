/* real_path.h - resolves a path for writing.  Private to the library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Resolve the links of `path` into out, of `room` bytes, including the last
 * one, even if nothing exists there. *fd is the descriptor of this process that
 * it names, otherwise -1.  False: errno says why; EACCES if another user could
 * have planted a link on the way. */
bool larder__real_path(const char *path, char *out, size_t room, int *fd);
