/* tool_error.h - why an operation of the tools failed, as a message for a
 * person. */
#pragma once

#include <stdbool.h>

/* Room for the longest path and an allocator's longest explanation. */
enum { TOOL_ERROR_MAX = 8192 };

/* Set only when a call fails; belongs to the caller. */
struct tool_error {
    char text[TOOL_ERROR_MAX];
};

/* Of functions that do not return, which cppcheck has to know, too. */
#define TOOL_NO_RETURN __attribute__((noreturn))

/* Set the message. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void tool_set_error(struct tool_error *error, const char *format, ...);

/* The same as an expression with value false, for `return tool_fail(...)`.  It
 * is a macro so that compilers and analysers see the value. */
#define tool_fail(error, ...) (tool_set_error((error), __VA_ARGS__), false)
