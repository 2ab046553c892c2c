/* cmd_lab.c - `larder lab`: the prompt. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "complain.h"
#include "help.h"
#include "lab/lab_command.h"
#include "lab/prompt/prompt_shell.h"
#include "take_capacity.h"
#include "take_setting.h"
#include "terminal.h"

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

struct settings {
    lab_options options;
    const char *snapshot;
    bool json;
};

static bool cmd_lab_set_option(struct settings *s, const struct cli_args *a,
                               int row)
{
    switch ((enum row)row) {
    case ROW_DEVICE:
        s->options.device = a->value;
        return take_capacity_check(a, row);
    case ROW_POLICY:
        return take_policy(a, &s->options.policy);
    case ROW_CONF:
        return take_conf(a, &s->options.conf);
    case ROW_SEED:
        return cli_number(a, row, 1, INT64_MAX, &s->options.seed);
    case ROW_SNAPSHOT:
        s->snapshot = a->value;
        return lab_check_snapshot(a);
    case ROW_JSON:
        s->json = true;
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

static void greet(struct prompt_shell *s)
{
    fprintf(s->out,
            "Tensors on a simulated GPU, %s.\n"
            "Python as with torch; 'help' for what there is, Ctrl-D ends.\n\n",
            s->prompt.options.device != NULL ? s->prompt.options.device
                                             : LAB_DEVICE_DEFAULT);
}

static int run_shell(struct prompt_shell *s, const struct settings *settings)
{
    int status = CLI_EXIT_OK;
    bool terminal = isatty(STDIN_FILENO) && terminal_is_smart(stdout);

    s->interactive = terminal && !s->json;
    if (s->interactive) {
        greet(s);
        prompt_shell_edit(s);
    } else {
        prompt_shell_read(s);
        if (s->failed)
            status = CLI_EXIT_NO;
    }
    s->prompt.failed = false;
    if (settings->snapshot != NULL &&
        !prompt_snapshot_write(&s->prompt, settings->snapshot)) {
        cli_complain("lab", "%s", s->prompt.error.text);
        status = CLI_EXIT_BAD;
    }
    return status;
}

static int run_prompt(const struct cli_command *self, int argc, char **argv)
{
    struct settings settings = {.json = false};
    struct prompt_shell shell = {.out = stdout};
    int status;

    lab_options_init(&settings.options);
    status = cli_read(self, argc, argv, cmd_lab_take, &settings);
    if (status >= 0)
        return status;
    setlocale(LC_CTYPE, "");
    shell.json = settings.json;
    shell.colour = terminal_has_colour(stdout);
    shell.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    shell.width = (unsigned)terminal_width(stdout);
    if (!prompt_open(&shell.prompt, &settings.options))
        return cli_bad_usage(self, "%s", lab_last_error());
    status = run_shell(&shell, &settings);
    prompt_close(&shell.prompt);
    free(shell.device);
    return status;
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
        "Without a command, an interactive prompt: a subset of Python as with "
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
