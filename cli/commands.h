/* commands.h - all commands. */
#pragma once

#include "option.h"

extern const struct cli_command cli_command_replay;
extern const struct cli_command cli_command_lab;
extern const struct cli_command cli_command_report;
extern const struct cli_command cli_command_diff;
extern const struct cli_command cli_command_view;
extern const struct cli_command cli_command_convert;
extern const struct cli_command cli_command_exec;
extern const struct cli_command cli_command_doctor;
extern const struct cli_command cli_command_tune;
extern const struct cli_command cli_command_fit;
extern const struct cli_command cli_command_run;
extern const struct cli_command cli_command_top;
