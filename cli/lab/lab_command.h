/* lab_command.h - functions shared by the parts of `larder lab`. */
#ifndef LARDER_CLI_LAB_LAB_COMMAND_H
#define LARDER_CLI_LAB_LAB_COMMAND_H

#include <larder/lab.h>

#include "option.h"

extern const struct cli_command lab_command_list;
extern const struct cli_command lab_command_run;

/* For the option just read.  False: an error was reported. */
bool lab_check_snapshot(const struct cli_args *a);

#endif
