/* lab_command.h - what the parts of `larder lab` share. */
#ifndef LARDER_CLI_LAB_LAB_COMMAND_H
#define LARDER_CLI_LAB_LAB_COMMAND_H

#include <larder/lab.h>

#include "option.h"

extern const struct cli_command lab_command_list;
extern const struct cli_command lab_command_run;

/* Of the option just read; they say what is wrong with it and return
 * false. */
bool lab_read_policy(const struct cli_args *a, larder_policy *out);
bool lab_check_conf(const struct cli_args *a);
bool lab_check_snapshot(const struct cli_args *a);

#endif
