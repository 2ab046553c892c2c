/* lab_command.c - `larder lab list`, `larder lab run`. */
#include "lab_command.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/experiments/experiments.h"
#include "python_program.h"
#include "take_setting.h"
#include "terminal.h"
#include "trace/ends_with.h"

/* ---- shared ------------------------------------------------------------- */

bool lab_take_snapshot(struct cli_args *a, void *out)
{
    return ends_with(a->value, ".json") || ends_with(a->value, ".pickle")
               ? cli_take_text(a, out)
               : cli_refuse(a,
                            "--snapshot '%s': its name must end with .json or "
                            ".pickle",
                            a->value);
}

/* ---- Python --------------------------------------------------------------- */

int lab_python_run(const char *command, const char *module, FILE *panel,
                   char *const *words)
{
    unsigned columns = (unsigned)terminal_width(panel);
    char width[16];
    char *own[5] = {NULL};
    int count = 0;

    if (columns > 0) {
        snprintf(width, sizeof width, "%u", columns);
        own[count++] = (char *)"--width";
        own[count++] = width;
    }
    if (terminal_has_colour(panel))
        own[count++] = (char *)"--colour";
    if (!terminal_is_utf8())
        own[count++] = (char *)"--ascii";
    return cli_python_run(command, module, own, words);
}

/* ---- list --------------------------------------------------------------- */

static const struct cli_option list_table[] = {
    {"json", NULL, "print an array", .take = cli_take_flag},
    {.name = NULL},
};

static int run_list(const struct cli_args *a)
{
    const bool *as_json = a->command->settings;

    experiments_list(stdout, *as_json);
    return CLI_EXIT_OK;
}

const struct cli_command lab_command_list = {
    .name = "lab list",
    .summary = "List the experiments.",
    .operands = "",
    .text = "'larder lab run' runs them.\n",
    .options = list_table,
    .settings = &(bool){false},
    .run = run_list,
};

/* ---- run ---------------------------------------------------------------- */

struct run_settings {
    struct lab_run_options options;
    bool each_statement;
    bool each_step;
    char **names; /* of experiments; in the place of words that were read */
    int count;
    const char *listing; /* the file; NULL: none */
};

static const struct cli_option run_table[] = {
    {"device", "SPEC", "the simulated GPU (" LAB_DEVICE_DEFAULT ")",
     CLI_INTO(struct run_settings, options.device)},
    {"policy", "larder|pytorch|direct", "how memory is chosen",
     CLI_TAKE(take_policy, struct run_settings, options.policy)},
    {"conf", "K:V,...", "settings in PyTorch's grammar",
     CLI_TAKE(take_conf, struct run_settings, options.conf)},
    {"snapshot", "FILE",
     "write the events and the final state to FILE.json\n"
     "or FILE.pickle at the end; one experiment",
     CLI_TAKE(lab_take_snapshot, struct run_settings, options.snapshot)},
    {"steps", NULL, "experiments: show the panel after every\nstatement",
     CLI_INTO(struct run_settings, options.steps)},
    {"each-statement", NULL,
     "listings: show the panel after every\n"
     "statement, not after every '#%%' cell",
     CLI_INTO(struct run_settings, each_statement)},
    {"each-step", NULL,
     "listings: also show a line after every step of an\n"
     "optimizer",
     CLI_INTO(struct run_settings, each_step)},
    {"json", NULL,
     "print one line with an object for each experiment,\n"
     "or (on the standard error) for each cell",
     CLI_INTO(struct run_settings, options.json)},
    {.name = NULL},
};

static bool is_listing(const char *name)
{
    return ends_with(name, ".py") || ends_with(name, ".ipynb");
}

static bool take_word(struct cli_args *a, void *settings)
{
    struct run_settings *s = settings;

    if (is_listing(a->value)) {
        /* Everything that follows belongs to the listing. */
        s->listing = a->value;
        a->next = a->count;
        return true;
    }
    s->names = a->words;
    s->names[s->count++] = a->words[a->next - 1];
    return true;
}

/* One file holds what one experiment did. */
static bool check_names(const struct cli_command *self,
                        const struct run_settings *s)
{
    int all = 0;

    for (int i = 0; i < s->count; i++) {
        int count = experiments_count(s->names[i]);

        if (count == 0)
            return cli_wrong(
                self,
                "there is no experiment '%s'; 'larder lab list' lists them",
                s->names[i]);
        all += count;
    }
    if (s->options.snapshot != NULL && all > 1)
        return cli_wrong(self,
                         "--snapshot takes one experiment, but %d were "
                         "given",
                         all);
    return true;
}

/* Each experiment opens its own sessions: a device that none of them could open
 * is reported once, before the first. */
static bool check_session(const struct cli_command *self,
                          const struct run_settings *s)
{
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = s->options.device;
    opt.policy = s->options.policy;
    opt.conf = s->options.conf;
    if (lab_open(&opt, &l) != LARDER_OK)
        return cli_wrong(self, "%s", lab_last_error());
    lab_close(l);
    return true;
}

static bool check_run(const struct cli_command *self, void *settings)
{
    const struct run_settings *s = settings;

    if (s->count == 0 && s->listing == NULL)
        return cli_wrong(self, "nothing to run; expected an experiment's NAME, "
                               "all, FILE.py or FILE.ipynb");
    if (s->count > 0 && s->listing != NULL)
        return cli_wrong(
            self, "'%s' and '%s': run experiments and a listing separately",
            s->names[0], s->listing);
    if (s->listing != NULL && s->options.steps)
        return cli_wrong(
            self,
            "--steps is for experiments; for a listing use --each-statement");
    if (s->count > 0 && (s->each_statement || s->each_step))
        return cli_wrong(
            self, "--each-%s is for listings; for experiments use --steps",
            s->each_statement ? "statement" : "step");
    if (s->listing != NULL && access(s->listing, R_OK) != 0)
        return cli_complain("lab run", "%s: cannot be opened: %s", s->listing,
                            strerror(errno));
    return check_names(self, s) && (s->count == 0 || check_session(self, s));
}

static int run_run(const struct cli_args *a)
{
    struct run_settings *s = a->command->settings;

    s->options.out = stdout;
    s->options.width = (unsigned)terminal_width(stdout);
    s->options.colour = terminal_has_colour(stdout);
    setlocale(LC_CTYPE, "");
    if (s->listing != NULL)
        return lab_python_run("lab run", "larder.lab.run", stderr, a->words);
    return experiments_run(s->count, s->names, &s->options);
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
    .settings = &(struct run_settings){.count = 0},
    .take = take_word,
    .check = check_run,
    .run = run_run,
};
