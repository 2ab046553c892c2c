/* complain.h - what the command says on the standard error.
 *
 * The name of a file, and what a file holds, may be anything: nothing in it
 * that a terminal would obey is printed. */
#ifndef LARDER_CLI_COMPLAIN_H
#define LARDER_CLI_COMPLAIN_H

#include <stdarg.h>

/* A line: "larder COMMAND: " and the words; for NULL "larder: ". */
__attribute__((format(printf, 2, 3))) void cli_complain(const char *command,
                                                        const char *format,
                                                        ...);
__attribute__((format(printf, 2, 0))) void cli_complain_list(
    const char *command, const char *format, va_list args);

#endif
