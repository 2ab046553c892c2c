/* cmd_lab.c - `larder lab`: the prompt. */
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "lab/lab_command.h"
#include "lab/lab_python.h"
#include "take_capacity.h"
#include "take_setting.h"

enum row { ROW_DEVICE, ROW_POLICY, ROW_CONF, ROW_SEED, ROW_SNAPSHOT, ROW_JSON };

static const struct cli_option lab_table[] = {
    [ROW_DEVICE] = {"device", "SPEC",
                    "the simulated GPU (" LAB_DEVICE_DEFAULT ")"},
    [ROW_POLICY] = {"policy", "larder|pytorch|direct", "how memory is chosen"},
    [ROW_CONF] = {"conf", "K:V,...",
                  "settings in PyTorch's grammar (default: LARDER_CONF\n"
                  "in the environment)"},
    [ROW_SEED] = {"seed", "N", "seed of the random numbers (1)"},
    [ROW_SNAPSHOT] = {"snapshot", "FILE",
                      "write the events and the final state to FILE.json\n"
                      "or FILE.pickle at the end"},
    [ROW_JSON] = {"json", NULL,
                  "print one line with an object for each statement"},
    {NULL, NULL, NULL},
};

static bool cmd_lab_set_option(struct lab_python *run, const struct cli_args *a,
                               int row)
{
    larder_policy policy;
    uint64_t seed;

    switch ((enum row)row) {
    case ROW_DEVICE:
        run->device = a->value;
        return take_capacity_check(a, row);
    case ROW_POLICY:
        run->policy = a->value;
        return take_policy(a, &policy);
    case ROW_CONF:
        return take_conf(a, &run->conf);
    case ROW_SEED:
        run->seed = a->value;
        return cli_number(a, row, 1, INT64_MAX, &seed);
    case ROW_SNAPSHOT:
        run->snapshot = a->value;
        return lab_check_snapshot(a);
    case ROW_JSON:
        run->json = true;
        break;
    }
    return true;
}

static bool cmd_lab_take(void *ctx, const struct cli_args *a, int got)
{
    if (got != CLI_OPERAND)
        return cmd_lab_set_option(ctx, a, got);
    if (strcmp(a->value, "run") == 0 || strcmp(a->value, "list") == 0)
        cli_bad_usage(a->command, "options stand after '%s'", a->value);
    else
        cli_bad_usage(a->command,
                      "unexpected '%s'; expected list, run, or nothing for "
                      "the prompt",
                      a->value);
    return false;
}

/* ---- the prompt ------------------------------------------------------------ */

static int run_prompt(const struct cli_command *self, int argc, char **argv)
{
    struct lab_python run = {
        .command = "lab",
        .module = "larder.lab.prompt",
        .panel = stdout,
    };
    int status = cli_read(self, argc, argv, cmd_lab_take, &run);

    if (status >= 0)
        return status;
    setlocale(LC_CTYPE, "");
    return lab_python_run(&run);
}

static int run_lab(const struct cli_command *self, int argc, char **argv)
{
    if (argc > 1) {
        for (const struct cli_command *const *part = self->parts; *part != NULL;
             part++) {
            if (strcmp(argv[1], (*part)->name + strlen("lab ")) == 0)
                return (*part)->run(*part, argc - 1, argv + 1);
        }
    }
    return run_prompt(self, argc, argv);
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
    .parts = lab_parts,
    .run = run_lab,
};
