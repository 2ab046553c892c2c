/* completion.h - completion of the command line in shells: a stub for the shell asks
 * `larder complete`, which answers from the commands' tables. */
#pragma once

#include <stdbool.h>

#include "option.h"

#define COMPLETION_SHELLS "bash|zsh|fish|table"

/* Print the stub for a shell, or the table of options, for the manuals.  False:
 * there is no such shell. `root` has the commands as its parts. */
bool completion_print(const struct cli_command *root, const char *shell);

/* Print what can be in the place of the last word, with those before it: a line
 * for each word that continues it, with a tab before its description.  An equals
 * sign may be a word of its own, as bash has it.  Returns whether it can be the
 * name of a file, too. */
bool completion_offer(const struct cli_command *root, int count, char **words);
