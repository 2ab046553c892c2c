/* commands.h - the commands there are. */
#ifndef LARDER_CLI_COMMANDS_H
#define LARDER_CLI_COMMANDS_H

#include "option.h"

extern const struct cli_command cli_command_replay;
extern const struct cli_command cli_command_lab;

#endif
