/* completion.h - scripts for shell completion, generated from the tables that
 * also produce --help. */
#ifndef LARDER_CLI_COMPLETION_H
#define LARDER_CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "option.h"

#define COMPLETION_SHELLS "bash|zsh|fish|table"

/* Write the script for a shell, or the table itself, for the manuals;
 * `commands` is ended by NULL.  False: there is no such shell. */
bool completion_write(FILE *out, const char *shell,
                      const struct cli_command *const *commands);

#endif
