/* cmd_run.c - `larder run`: starts the Python program larder.fit, which reads
 * the options' values. */
#include <stdio.h>
#include <stdlib.h>

#include <larder/larder.h>

#include "commands.h"
#include "help.h"
#include "python_program.h"

enum { ROW_CONF = 4 };

static const struct cli_option run_table[] = {
    {"device", "SPEC", "the simulated GPU (sim:24GiB)"},
    {"gpu", "NAME", "a card of the table, as rtx4090"},
    {"cards", "FILE", "another table of cards"},
    {"policy", "pytorch|larder|direct", "how memory is chosen (pytorch)"},
    [ROW_CONF] = {"conf", "K:V,...", "settings in PyTorch's grammar"},
    {"steps", "N",
     "optimizer steps to run, or all; without this,\n"
     "until two request the same"},
    {"engine", "stand-in|fake",
     "the program's own PyTorch on a simulated\n"
     "driver, or fake tensors; without this, what\n"
     "its PyTorch was built for"},
    {"on-item", "one|zero|nan|error",
     "what a value read from the GPU is; error:\n"
     "stop there"},
    {"real-cpu", NULL,
     "compute on the host what tensors of the\n"
     "GPU hold: slower, all values and sizes real"},
    {"world-size", "N",
     "how many processes the program is one of;\n"
     "it is the first"},
    {"max", "NAME=A..B",
     "find the largest value of the program's\n"
     "argument --NAME, or of its own number\n"
     "NAME, that fits"},
    {"advise", "always|never",
     "find out what would save memory; without\n"
     "this, if the program does not fit"},
    {"snapshot", "FILE", "write what happened to .pickle or .json"},
    {"view", "FILE", "write a page of it"},
    {"trace", "FILE", "write the requests, for larder replay"},
    {"json", "[=FILE]",
     "report as JSON; to FILE, apart from what the\n"
     "program prints"},
    {"m", NULL, "PROGRAM is the name of a module"},
    {NULL, NULL, NULL},
};

static bool check_conf(const struct cli_command *self, const char *conf)
{
    if (larder_conf_check(conf) == LARDER_OK)
        return true;
    cli_bad_usage(self, "%s", larder_last_error());
    return false;
}

/* Whether all words up to the program are options of this command: what follows
 * is the program's.  Returns an exit status, or -1 to continue. */
static int check_options(const struct cli_command *self, int argc, char **argv)
{
    struct cli_args args;
    int got;

    cli_args_init(&args, self, argc, argv);
    do {
        got = cli_next(&args);
        if (got == ROW_CONF && !check_conf(self, args.value))
            return CLI_EXIT_BAD;
    } while (got >= 0);
    if (got == CLI_HELP) {
        cli_help_command(self);
        return CLI_EXIT_OK;
    }
    if (got == CLI_END)
        return cli_bad_usage(self, "no program; expected PROGRAM [ARG...]");
    return got == CLI_WRONG ? CLI_EXIT_BAD : -1;
}

static int run_run(const struct cli_command *self, int argc, char **argv)
{
    enum { OWN_WORDS = 3 };
    char **words;
    int count = 0;
    int status = check_options(self, argc, argv);

    if (status >= 0)
        return status;
    if (!cli_python_prepare(self->name))
        return CLI_EXIT_BAD;
    words = calloc((size_t)argc + OWN_WORDS, sizeof *words);
    if (words == NULL) {
        fputs("larder run: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    words[count++] = (char *)cli_python_name();
    words[count++] = (char *)"-m";
    words[count++] = (char *)"larder.fit";
    for (int i = 1; i < argc; i++)
        words[count++] = argv[i];
    status = cli_python_become(self->name, words);
    free(words);
    return status;
}

const struct cli_command cli_command_run = {
    .name = "run",
    .summary = "Run a program of PyTorch without a GPU: would it fit on one?",
    .operands = "PROGRAM [ARG...]",
    .text =
        "PROGRAM is a script, a notebook, a module (-m), a command such as "
        "torchrun or\naccelerate launch, or a binary.  It runs unchanged: with "
        "a PyTorch that was built\nfor CUDA, as pip installs it, on a "
        "simulated driver; with a CPU-only one as\nfake tensors, which "
        "have shapes and no values.  Scripts run under python3;\n"
        "LARDER_PYTHON names another.  Exit status: 0 if it fits, 1 if not, 2 "
        "for no verdict:\nit failed, used no GPU, or could not be begun.\n",
    .options = run_table,
    .run = run_run,
};
