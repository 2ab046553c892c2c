/* lab_command.c - `larder lab list`, `larder lab run`. */
#include "lab_command.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/experiments.h"
#include "lab_history.h"
#include "help.h"
#include "lab_python.h"
#include "take_setting.h"
#include "terminal.h"

/* ---- shared ------------------------------------------------------------------ */

bool lab_check_snapshot(const struct cli_args *a)
{
    if (lab_history_name_ok(a->value))
        return true;
    cli_bad_usage(a->command,
                  "--snapshot '%s': its name must end with .json or "
                  ".pickle",
                  a->value);
    return false;
}

/* ---- list ---------------------------------------------------------------------- */

enum list_row { LIST_JSON };

static const struct cli_option list_table[] = {
    [LIST_JSON] = {"json", NULL, "print an array"},
    {NULL, NULL, NULL},
};

static bool take_list(void *ctx, const struct cli_args *a, int got)
{
    if (got == CLI_OPERAND) {
        cli_bad_usage(a->command, "unexpected '%s'", a->value);
        return false;
    }
    *(bool *)ctx = true;
    return true;
}

static int run_list(const struct cli_command *self, int argc, char **argv)
{
    bool json = false;
    int status = cli_read(self, argc, argv, take_list, &json);

    if (status >= 0)
        return status;
    experiments_list(stdout, json);
    return CLI_EXIT_OK;
}

const struct cli_command lab_command_list = {
    .name = "lab list",
    .summary = "List the experiments.",
    .operands = "",
    .text = "'larder lab run' runs them.\n",
    .options = list_table,
    .run = run_list,
};

/* ---- run ----------------------------------------------------------------------- */

enum run_row {
    RUN_DEVICE,
    RUN_POLICY,
    RUN_CONF,
    RUN_SNAPSHOT,
    RUN_STEPS,
    RUN_EACH,
    RUN_EACH_STEP,
    RUN_JSON
};

static const struct cli_option run_table[] = {
    [RUN_DEVICE] = {"device", "SPEC",
                    "the simulated GPU (" LAB_DEVICE_DEFAULT ")"},
    [RUN_POLICY] = {"policy", "larder|pytorch|direct", "how memory is chosen"},
    [RUN_CONF] = {"conf", "K:V,...", "settings in PyTorch's grammar"},
    [RUN_SNAPSHOT] = {"snapshot", "FILE",
                      "write the events and the final state to FILE.json\n"
                      "or FILE.pickle at the end; one experiment"},
    [RUN_STEPS] = {"steps", NULL,
                   "experiments: show the panel after every\nstatement"},
    [RUN_EACH] = {"each-statement", NULL,
                  "listings: show the panel after every\n"
                  "statement, not after every '#%%' cell"},
    [RUN_EACH_STEP] = {"each-step", NULL,
                       "listings: also show a line after every step of an\n"
                       "optimizer"},
    [RUN_JSON] = {"json", NULL,
                  "print one line with an object for each experiment,\n"
                  "or (on the standard error) for each cell"},
    {NULL, NULL, NULL},
};

struct run_settings {
    struct lab_run_options options;
    bool each_statement;
    bool each_step;
    char **names; /* names of experiments */
    int count;
    const char *policy_name;
    char **listing; /* the file with its arguments */
    int listing_count;
};

static bool set_run_option(struct run_settings *s, const struct cli_args *a,
                           int row)
{
    switch ((enum run_row)row) {
    case RUN_DEVICE:
        s->options.device = a->value;
        break;
    case RUN_POLICY:
        s->policy_name = a->value;
        return take_policy(a, &s->options.policy);
    case RUN_CONF:
        return take_conf(a, &s->options.conf);
    case RUN_SNAPSHOT:
        s->options.snapshot = a->value;
        return lab_check_snapshot(a);
    case RUN_STEPS:
        s->options.steps = true;
        break;
    case RUN_EACH:
        s->each_statement = true;
        break;
    case RUN_EACH_STEP:
        s->each_step = true;
        break;
    case RUN_JSON:
        s->options.json = true;
        break;
    }
    return true;
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length > tail && strcmp(name + length - tail, end) == 0;
}

static bool is_listing(const char *name)
{
    return ends_in(name, ".py") || ends_in(name, ".ipynb");
}

/* Returns an exit status, or -1 to continue. */
static int read_run(const struct cli_command *self, int argc, char **argv,
                    struct run_settings *s)
{
    struct cli_args args;
    int got;

    cli_args_init(&args, self, argc, argv);
    while ((got = cli_next(&args)) != CLI_END) {
        if (got == CLI_HELP) {
            cli_help_command(self);
            return CLI_EXIT_OK;
        }
        if (got == CLI_WRONG ||
            (got != CLI_OPERAND && !set_run_option(s, &args, got)))
            return CLI_EXIT_BAD;
        if (got == CLI_OPERAND && is_listing(args.value)) {
            /* Everything that follows belongs to the listing. */
            s->listing = argv + args.next - 1;
            s->listing_count = argc - args.next + 1;
            return -1;
        }
        if (got == CLI_OPERAND)
            s->names[s->count++] = argv[args.next - 1];
    }
    return -1;
}

/* One file holds what one experiment did. */
static int check_names(const struct cli_command *self,
                       const struct run_settings *s)
{
    int all = 0;

    for (int i = 0; i < s->count; i++) {
        int count = experiments_count(s->names[i]);

        if (count == 0)
            return cli_bad_usage(self,
                                 "there is no experiment '%s'; 'larder lab "
                                 "list' shows what there is",
                                 s->names[i]);
        all += count;
    }
    if (s->options.snapshot != NULL && all > 1)
        return cli_bad_usage(self,
                             "--snapshot takes one experiment, but %d were "
                             "given",
                             all);
    return CLI_EXIT_OK;
}

/* Each experiment opens sessions of its own: what none of them could open is
 * told once, before the first. */
static int check_session(const struct cli_command *self,
                         const struct run_settings *s)
{
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = s->options.device;
    opt.policy = s->options.policy;
    opt.conf = s->options.conf;
    if (lab_open(&opt, &l) != LARDER_OK)
        return cli_bad_usage(self, "%s", lab_last_error());
    lab_close(l);
    return CLI_EXIT_OK;
}

static int check_run(const struct cli_command *self,
                     const struct run_settings *s)
{
    int status;

    if (s->count == 0 && s->listing == NULL)
        return cli_bad_usage(self,
                             "nothing to run; expected an experiment's NAME, "
                             "all, FILE.py or FILE.ipynb");
    if (s->count > 0 && s->listing != NULL)
        return cli_bad_usage(self,
                             "'%s' and '%s': experiments and a listing "
                             "run one by one",
                             s->names[0], s->listing[0]);
    if (s->listing != NULL && s->options.steps)
        return cli_bad_usage(self, "--steps is of experiments; listings have "
                                   "--each-statement");
    if (s->count > 0 && (s->each_statement || s->each_step))
        return cli_bad_usage(self,
                             "--each-%s is of listings; experiments have "
                             "--steps",
                             s->each_statement ? "statement" : "step");
    status = check_names(self, s);
    if (status == CLI_EXIT_OK && s->count > 0)
        status = check_session(self, s);
    return status;
}

static int run_listing(struct run_settings *s)
{
    const struct lab_python listing = {
        .command = "lab run",
        .module = "larder.lab.run",
        .device = s->options.device,
        .policy = s->policy_name,
        .conf = s->options.conf,
        .snapshot = s->options.snapshot,
        .each_statement = s->each_statement,
        .each_step = s->each_step,
        .json = s->options.json,
        .panel = stderr,
        .words = s->listing,
        .count = s->listing_count,
    };

    return lab_python_run(&listing);
}

static int run_checked(struct run_settings *s)
{
    s->options.out = stdout;
    s->options.width = (unsigned)terminal_width(stdout);
    s->options.colour = terminal_has_colour(stdout);
    setlocale(LC_CTYPE, "");
    if (s->listing != NULL)
        return run_listing(s);
    return experiments_run(s->count, s->names, &s->options);
}

static int run_run(const struct cli_command *self, int argc, char **argv)
{
    struct run_settings s = {.count = 0};
    int status;

    s.names = calloc((size_t)argc + 1, sizeof *s.names);
    if (s.names == NULL) {
        fputs("larder lab run: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    status = read_run(self, argc, argv, &s);
    if (status < 0)
        status =
            check_run(self, &s) == CLI_EXIT_OK ? run_checked(&s) : CLI_EXIT_BAD;
    free(s.names);
    return status;
}

const struct cli_command lab_command_run = {
    .name = "lab run",
    .operand = experiments_word,
    .summary = "Run experiments, or a Python listing, and show their effect "
               "on memory.",
    .operands = "NAME...|all|FILE.py|FILE.ipynb [ARG...]",
    .text =
        "NAME is an experiment of 'larder lab list', by name or number.\n"
        "FILE.py, or the code of a notebook, is run by python3 with the lab "
        "in place of torch;\n"
        "its arguments follow it, and options precede it.\n"
        "The exit status is 0 when every expectation was met, 1 when one was "
        "not, and 2 for bad\n"
        "usage; the exit status of a listing is its own.\n",
    .options = run_table,
    .run = run_run,
};
