/* completion.h - scripts that complete the command line in a shell, made of the
 * tables that --help is made of. */
#ifndef LARDER_CLI_COMPLETION_H
#define LARDER_CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "option.h"

#define COMPLETION_SHELLS "bash|zsh|fish|table"

/* Write the script of a shell, or the table itself, for the manuals; `commands`
 * is ended by NULL.  False if there is no such shell. */
bool completion_write(FILE *out, const char *shell,
                      const struct cli_command *const *commands);

#endif
