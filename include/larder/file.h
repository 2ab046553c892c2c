/* file.h - how the library, the command and the Python package write a file:
 * whole or not at all.
 *
 * A regular file appears when it is complete, with the mode of the one it
 * replaces, and its owner where the process may give files away; until then it
 * has no name, or one that nobody can guess.  Links are followed: what they
 * point at is replaced; but not one of another user's in a folder where all may
 * put files, such as /tmp.  A device, a pipe, and a descriptor of the process
 * (/dev/stdout, /dev/fd/3) are written in their place.  A pipe that nobody reads
 * is refused, not waited for.
 *
 *   larder_file *f;
 *   if (larder_file_create("out.json", &f) == LARDER_OK) {
 *       larder_result r = larder_file_write(f, text, strlen(text));
 *       larder_file_close(f, r == LARDER_OK);
 *   }
 *
 * Errors are LARDER_ERR_SYSTEM; the last error names the path and why.  A file
 * is used by one thread at a time. */
#ifndef LARDER_FILE_H
#define LARDER_FILE_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larder_file larder_file; /* opaque */

LARDER_API larder_result larder_file_create(const char *path,
                                            larder_file **out);
LARDER_API larder_result larder_file_write(larder_file *f, const void *bytes,
                                           size_t count);

/* What it is written through, the file's own: to be written to, not closed. */
LARDER_API int larder_file_descriptor(const larder_file *f);

/* Put it in its place, or with `keep` 0 drop it.  It is gone in any case; on
 * failure nothing is left of it.  NULL is a no-op. */
LARDER_API larder_result larder_file_close(larder_file *f, int keep);

/* Remove what unfinished files have of names: for a program's handler of a
 * signal that ends it.  Async-signal-safe.  Where the file system has files
 * without a name (O_TMPFILE) there is nothing to remove, whatever the signal. */
LARDER_API void larder_files_abandon(void);

#ifdef __cplusplus
}
#endif
#endif
