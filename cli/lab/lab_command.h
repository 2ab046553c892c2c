/* lab_command.h - functions shared by the parts of `larder lab`. */
#ifndef LARDER_CLI_LAB_LAB_COMMAND_H
#define LARDER_CLI_LAB_LAB_COMMAND_H

#include <larder/lab.h>

#include "option.h"

extern const struct cli_command lab_command_list;
extern const struct cli_command lab_command_run;

/* The name of a file for a snapshot, into a const char *. */
cli_take_fn lab_take_snapshot;

#endif
