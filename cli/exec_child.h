/* exec_child.h - runs the program of `larder exec`. */
#ifndef LARDER_CLI_EXEC_CHILD_H
#define LARDER_CLI_EXEC_CHILD_H

#include <stdbool.h>

/* Run the words, ended by NULL, and wait.  Signals sent to this process are
 * forwarded to the program; those from the terminal reach it anyway.  Returns
 * the program's exit status, or the shell's value for a signal.  *began: whether
 * there was a program; if not, that was reported. */
int exec_child_run(char **words, bool *began);

#endif
