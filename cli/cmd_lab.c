/* cmd_lab.c - `larder lab`: the prompt. */
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "lab/lab_command.h"
#include "take_setting.h"

/* Checked here, read by the prompt. */
struct settings {
    const char *device;
    larder_policy policy;
    const char *conf;
    uint64_t seed;
    const char *snapshot;
    bool json;
};

static const struct cli_option lab_table[] = {
    {"device", "SPEC", "the simulated GPU (" LAB_DEVICE_DEFAULT ")",
     CLI_TAKE(take_device, struct settings, device)},
    {"policy", "larder|pytorch|direct", "how memory is chosen",
     CLI_TAKE(take_policy, struct settings, policy)},
    {"conf", "K:V,...",
     "settings in PyTorch's grammar (default: LARDER_CONF\n"
     "in the environment)",
     CLI_TAKE(take_conf, struct settings, conf)},
    {"seed", "N", "seed of the random numbers (1)",
     CLI_NUMBER(struct settings, seed, 1, INT64_MAX)},
    {"snapshot", "FILE",
     "write the events and the final state to FILE.json\n"
     "or FILE.pickle at the end",
     CLI_TAKE(lab_take_snapshot, struct settings, snapshot)},
    {"json", NULL, "print one line with an object for each statement",
     CLI_INTO(struct settings, json)},
    {.name = NULL},
};

static bool refuse_operand(struct cli_args *a, void *run)
{
    (void)run;
    return strcmp(a->value, "run") == 0 || strcmp(a->value, "list") == 0
               ? cli_refuse(a, "options follow '%s'", a->value)
               : cli_refuse(a,
                            "unexpected '%s'; expected list, run, or nothing "
                            "for the prompt",
                            a->value);
}

/* ---- the prompt ------------------------------------------------------------ */

static int run_prompt(const struct cli_args *a)
{
    setlocale(LC_CTYPE, "");
    return lab_python_run("lab", "larder.lab.prompt", stdout, a->words);
}

static const struct cli_command *const lab_parts[] = {
    &lab_command_list,
    &lab_command_run,
    NULL,
};

const struct cli_command cli_command_lab = {
    .name = "lab",
    .summary = "Run tensor code or experiments, and see their effect on "
               "memory.",
    .operands = "",
    .text =
        "Without a command, an interactive prompt: Python, with the lab as "
        "torch, on a\n"
        "simulated GPU.  Statements from a pipe are run line by line.\n"
        "\n"
        "  larder lab list       list the experiments\n"
        "  larder lab run NAME   run one, or a listing FILE.py\n"
        "\n"
        "The exit status is 0, 1 when a statement from a pipe failed, and 2 "
        "for bad usage.\n",
    .options = lab_table,
    .settings = &(struct settings){0},
    .take = refuse_operand,
    .parts = lab_parts,
    .run = run_prompt,
};
