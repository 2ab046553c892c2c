/* assert.h - what must be true unless this library has a bug.  Private to the
 * library.
 *
 * Levels, fixed when the library is built (CMake's LARDER_ASSERT_LEVEL):
 *   0  no assertion is compiled in: every release;
 *   1  larder__assert(): constant time;
 *   2  larder__assert_slow() too: it may walk a structure.
 * The setting `debug:N` is another matter: it looks for bugs in programs that
 * use the library, at run time, in every build.
 *
 * An assertion that fails says where and what on the standard error, and
 * aborts.  At level 0 the library never aborts.  A caller's mistake is no
 * reason for one: it has a result.
 *
 * The expression has no effects, and at level 0 it is compiled but never
 * evaluated, so that it stays correct. */
#ifndef LARDER_BASE_ASSERT_H
#define LARDER_BASE_ASSERT_H

#include <stdbool.h>

#ifndef LARDER_ASSERT_LEVEL
#define LARDER_ASSERT_LEVEL 0
#endif

/* Write "FILE:LINE: assertion failed: TEXT" and abort. */
_Noreturn void larder__assert_fail(const char *file, int line,
                                   const char *text);

#define larder__assert_at(level, condition)                                    \
    (LARDER_ASSERT_LEVEL < (level) || (condition)                              \
         ? (void)0                                                             \
         : larder__assert_fail(__FILE__, __LINE__, #condition))

#define larder__assert(condition) larder__assert_at(1, condition)
#define larder__assert_slow(condition) larder__assert_at(2, condition)

#endif
