/* python_program.h - commands that are programs of Python. */
#ifndef LARDER_CLI_PYTHON_PROGRAM_H
#define LARDER_CLI_PYTHON_PROGRAM_H

#include <stdbool.h>

/* The interpreter: LARDER_PYTHON, or else python3. */
const char *cli_python_name(void);

/* Set the environment so that the interpreter finds the package and the
 * package its libraries.  An interpreter that was named has the package.  Says
 * what is wrong, as `larder COMMAND: ...`, and returns false. */
bool cli_python_prepare(const char *command);

/* Become the program; words[0] is the interpreter.  Returns, with the exit
 * status, only if that cannot be. */
int cli_python_become(const char *command, char **words);

#endif
