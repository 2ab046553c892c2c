/* file.h - how the library, the command and the Python package write a file:
 * whole or not at all.
 *
 * A regular file appears when it is complete.  It gets the mode of the file it
 * replaces, and its owner if the process may change that; until then it has no
 * name, or an unpredictable one.  Symbolic links are followed and their target
 * replaced; another user's link in a directory like /tmp, where everybody may
 * create files, is refused.  Devices, pipes and descriptors of the process
 * (/dev/stdout, /dev/fd/3) are written directly.  A pipe without a reader is an
 * error: the call does not wait for one.
 *
 *   larder_file *f;
 *   if (larder_file_create("out.json", &f) == LARDER_OK) {
 *       larder_result r = larder_file_write(f, text, strlen(text));
 *       larder_file_close(f, r == LARDER_OK);
 *   }
 *
 * Errors are LARDER_ERR_SYSTEM; the last error names the path and the reason.
 * Only one thread may use a file at a time. */
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

/* The file's descriptor.  The caller may write to it but must not close it. */
LARDER_API int larder_file_descriptor(const larder_file *f);

/* Move the file to its path, or discard it if `keep` is 0.  `f` is freed in
 * either case; on failure no file remains.  NULL is a no-op. */
LARDER_API larder_result larder_file_close(larder_file *f, int keep);

/* Remove the temporary names of unfinished files, for handlers of signals that
 * end the program.  Async-signal-safe.  On file systems with O_TMPFILE
 * unfinished files have no name, and nothing has to be removed. */
LARDER_API void larder_files_abandon(void);

#ifdef __cplusplus
}
#endif
#endif
