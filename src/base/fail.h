/* fail.h - the words that go with a failure.  Private to the library. */
#ifndef LARDER_BASE_FAIL_H
#define LARDER_BASE_FAIL_H

#include <larder/larder.h>

/* Room for the longest message: an out-of-memory's. */
enum { LARDER_FAIL_MAX = 2048 };

/* Set this thread's larder_last_error() and return r. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
larder_result larder__fail(larder_result r, const char *format, ...);

/* The same with the result's own text. */
larder_result larder__fail_plain(larder_result r);

/* Copy this thread's message, cut to fit, for one that will contain it. */
void larder__copy_error(char *out, size_t capacity);

#endif
