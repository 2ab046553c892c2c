/* cmd_run.c - `larder run`: starts the Python program larder.fit, which reads
 * the options' values. */
#include <larder/larder.h>

#include "commands.h"
#include "python_program.h"

/* The program reads it again. */
static bool check_conf(struct cli_args *a, void *out)
{
    (void)out;
    return larder_conf_check(a->value) == LARDER_OK ||
           cli_refuse(a, "%s", larder_last_error());
}

static const struct cli_option run_table[] = {
    {"device", "SPEC", "the simulated GPU (sim:24GiB)", CLI_UNREAD},
    {"gpu", "NAME", "a card of the table, such as rtx4090", CLI_UNREAD},
    {"cards", "FILE", "another table of cards", CLI_UNREAD},
    {"policy", "pytorch|larder|direct", "how memory is chosen (pytorch)",
     CLI_UNREAD},
    {"conf", "K:V,...", "settings in PyTorch's grammar", .take = check_conf},
    {"steps", "N",
     "optimizer steps to run, or all (until two\n"
     "request the same)",
     CLI_UNREAD},
    {"engine", "stand-in|fake",
     "the program's own PyTorch on a simulated\n"
     "driver, or fake tensors (chosen by how its\n"
     "PyTorch was built)",
     CLI_UNREAD},
    {"on-item", "one|zero|nan|error",
     "the value that reads from the GPU return;\n"
     "error: stop there",
     CLI_UNREAD},
    {"real-cpu", NULL,
     "compute the values of GPU tensors on the\n"
     "host: slower, but all values and sizes are\n"
     "real",
     CLI_UNREAD},
    {"world-size", "N",
     "number of processes of the job; the program\n"
     "is the first",
     CLI_UNREAD},
    {"max", "NAME=A..B",
     "find the largest value of the program's\n"
     "argument --NAME, or of its variable NAME,\n"
     "that fits",
     CLI_UNREAD},
    {"advise", "always|never",
     "when to search for changes that save memory\n"
     "(if the program does not fit)",
     CLI_UNREAD},
    {"snapshot", "FILE", "write a snapshot, as .pickle or .json", CLI_UNREAD},
    {"view", "FILE", "write the snapshot as a page", CLI_UNREAD},
    {"trace", "FILE",
     "write the requests as a trace, for larder\n"
     "replay",
     CLI_UNREAD},
    {"json", "[=FILE]",
     "print the report as JSON; with FILE, write it\n"
     "there, apart from the program's output",
     CLI_UNREAD},
    {"m", NULL, "PROGRAM is the name of a module", CLI_UNREAD},
    {.name = NULL},
};

static bool check(const struct cli_command *self, void *settings)
{
    char ***program = settings;

    return *program != NULL ||
           cli_wrong(self, "no program; expected PROGRAM [ARG...]");
}

static int run_run(const struct cli_args *a)
{
    char *const none[] = {NULL};

    return cli_python_run(a->command->name, "larder.fit", none, a->words);
}

const struct cli_command cli_command_run = {
    .name = "run",
    .summary = "Run a PyTorch program without a GPU: would it fit on one?",
    .operands = "PROGRAM [ARG...]",
    .text =
        "PROGRAM is a script, a notebook, a module (-m), a command such as "
        "torchrun or\naccelerate launch, or a binary.  It runs unchanged: with "
        "a PyTorch that was built\nfor CUDA, as pip installs it, on a "
        "simulated driver; with a CPU-only one as\nfake tensors, which "
        "have shapes but no values.  Scripts run under python3;\n"
        "LARDER_PYTHON names another.  Exit status: 0 if it fits, 1 if not, 2 "
        "for no verdict:\nit failed, used no GPU, or could not be started.\n",
    .options = run_table,
    .settings = &(char **){NULL},
    .take = cli_take_program,
    .check = check,
    .run = run_run,
};
