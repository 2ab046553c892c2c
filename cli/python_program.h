/* python_program.h - commands implemented in Python. */
#ifndef LARDER_CLI_PYTHON_PROGRAM_H
#define LARDER_CLI_PYTHON_PROGRAM_H

#include <stdbool.h>

/* The interpreter: LARDER_PYTHON, otherwise python3. */
const char *cli_python_name(void);

/* Set the environment so that the interpreter finds the package, and the
 * package its libraries.  A named interpreter must have the package. False:
 * reported as `larder COMMAND: ...`. */
bool cli_python_prepare(const char *command);

/* Execute the program in place of this process; words[0] is the interpreter.
 * Returns, with the exit status, only on failure. */
int cli_python_become(const char *command, char **words);

#endif
