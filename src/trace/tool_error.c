/* tool_error.c - why an operation of the tools failed, as a message for a
 * person. */
#include "trace/tool_error.h"

#include <stdarg.h>
#include <stdio.h>

void tool_set_error(struct tool_error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
}
