/* complain.h - messages on the standard error.
 *
 * The name and the contents of a file may be anything: control characters are
 * never printed. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/* Print one line: "larder COMMAND: " and the message; "larder: " for NULL.
 * Returns false. */
__attribute__((format(printf, 2, 3))) bool cli_complain(const char *command,
                                                        const char *format,
                                                        ...);
__attribute__((format(printf, 2, 0))) void cli_complain_list(
    const char *command, const char *format, va_list args);
