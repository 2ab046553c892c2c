/* exec_child.h - the program that `larder exec` runs. */
#ifndef LARDER_CLI_EXEC_CHILD_H
#define LARDER_CLI_EXEC_CHILD_H

/* Run the words, ended by NULL, and wait.  Signals that are sent to this
 * process go to the program; those of the terminal reach it anyway.  The exit
 * status is the program's; a signal's is the shell's. */
int exec_child_run(char **words);

#endif
