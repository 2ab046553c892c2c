/* python_program.h - commands implemented in Python. */
#pragma once

#include <stdbool.h>

/* The interpreter: LARDER_PYTHON, otherwise python3. */
const char *cli_python_name(void);

/* Execute `python3 -m module` in place of this process, with the words of `own` and
 * then of `words`, both ended by NULL.  The interpreter finds the package, and the
 * package its libraries; a named interpreter must have the package.  Returns, with
 * the exit status, only on failure, which is reported as `larder COMMAND: ...`. */
int cli_python_run(const char *command, const char *module, char *const *own,
                   char *const *words);
