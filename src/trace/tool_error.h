/* tool_error.h - why something the tools were asked to do did not work, in
 * words for a person. */
#ifndef LARDER_TRACE_TOOL_ERROR_H
#define LARDER_TRACE_TOOL_ERROR_H

#include <stdbool.h>

/* Room for the longest path and the longest explanation of an allocator. */
enum { TOOL_ERROR_MAX = 8192 };

/* Filled only when a call fails; belongs to the caller. */
struct tool_error {
    char text[TOOL_ERROR_MAX];
};

/* Set the words. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void tool_set_error(struct tool_error *error, const char *format, ...);

/* The same, worth false: for `return tool_fail(...)`.  A macro, so that
 * compilers and analysers see what is returned. */
#define tool_fail(error, ...) (tool_set_error((error), __VA_ARGS__), false)

#endif
