/* assert.h - conditions that hold unless this library has a bug.  Private to
 * the library.
 *
 * Levels, fixed when the library is built (CMake's LARDER_ASSERT_LEVEL):
 *   0  no assertion is compiled in: every release;
 *   1  larder__assert(): constant time;
 *   2  larder__assert_slow() too: it may walk a structure.
 *
 * This is independent of the setting `debug:N`, which looks for bugs in
 * programs that use the library, at run time, in every build.
 *
 * An assertion that fails prints its place and text to the standard error, and
 * aborts.  At level 0 the library never aborts.  A caller's mistake is no
 * assertion: it has a result.
 *
 * The expression must have no side effects.  At level 0 it is compiled, so that
 * it stays correct, but never evaluated. */
#pragma once

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
