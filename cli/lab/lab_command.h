/* lab_command.h - functions shared by the parts of `larder lab`. */
#pragma once

#include <stdio.h>

#include <larder/lab.h>

#include "option.h"

extern const struct cli_command lab_command_list;
extern const struct cli_command lab_command_run;

/* The name of a file for a snapshot, into a const char *. */
cli_take_fn lab_take_snapshot;

/* Execute python3 with the module in place of this process: it reads the words of
 * the command line, ended by NULL, again.  `panel`: where the panel is shown, whose
 * width and colours it is told.  Returns an exit status only on failure, after a
 * message on the standard error as `larder COMMAND: ...`. */
int lab_python_run(const char *command, const char *module, FILE *panel,
                   char *const *words);
