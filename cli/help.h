/* help.h - what `larder help` and --help print. */
#ifndef LARDER_CLI_HELP_H
#define LARDER_CLI_HELP_H

#include "option.h"

/* Help of one command, on the standard output. */
void cli_help_command(const struct cli_command *command);

#endif
