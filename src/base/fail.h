/* fail.h - the message of a failure.  Private to the library. */
#pragma once

#include <larder/larder.h>

/* Room for the longest message, that of an out-of-memory error. */
enum { LARDER_FAIL_MAX = 2048 };

/* Set this thread's larder_last_error(). */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void larder__set_error(const char *format, ...);

/* The same as an expression with value r, for `return larder__fail(...)`.  It
 * is a macro so that compilers and analysers see the value. */
#define larder__fail(r, ...) (larder__set_error(__VA_ARGS__), (r))

/* The same with the result's own text. */
static inline larder_result larder__fail_plain(larder_result r)
{
    return larder__fail(r, "%s", larder_result_text(r));
}

/* Keep the first of several failures: *r becomes `one` unless it is a failure
 * already. */
static inline void fail_keep_first(larder_result *r, larder_result one)
{
    if (*r == LARDER_OK)
        *r = one;
}

/* Copy this thread's message, truncated to fit, for a message that will contain
 * it. */
void larder__copy_error(char *out, size_t capacity);
