/* main.c - the command `larder`: finds and runs the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <larder/larder.h>

#include "commands.h"
#include "completion.h"

static int run_version(const struct cli_args *a);
static int run_help(const struct cli_args *a);
static int run_completion(const struct cli_args *a);
static const char *command_word(size_t index);

/* For commands without options: the operands. */
struct operands {
    size_t max;
    size_t count;
    const char *words[2];
};

static bool take_operand(struct cli_args *a, void *operands)
{
    struct operands *o = operands;

    if (o->count == o->max)
        return cli_refuse(a, "unexpected '%s'", a->value);
    o->words[o->count++] = a->value;
    return true;
}

static const struct cli_command command_version = {
    .name = "version",
    .summary = "Show the version of Larder.",
    .operands = "",
    .run = run_version,
};

static const struct cli_command command_help = {
    .name = "help",
    .summary = "List the commands, or show all options of one.",
    .operands = "[COMMAND [PART]]",
    .operand = command_word,
    .settings = &(struct operands){.max = 2},
    .take = take_operand,
    .run = run_help,
};

static const struct cli_command command_completion = {
    .name = "completion",
    .summary = "Print the script that completes the command line in a shell.",
    .operands = COMPLETION_SHELLS,
    .text = "'make install' installs the three for the shells.\n"
            "A table lists the options that they offer, one per line.\n",
    .is_hidden = true,
    .settings = &(struct operands){.max = 1},
    .take = take_operand,
    .run = run_completion,
};

/* What the scripts run; its words are not read as options: they are those of the
 * line that is completed. */
static const struct cli_command command_complete = {
    .name = "complete",
    .summary = "Print what can follow the words of a command line.",
    .operands = "",
    .is_hidden = true,
};

/* In a browser (docs/SITE.md) there is no process to start or to watch. */
static const struct cli_command *const commands[] = {
#ifndef __EMSCRIPTEN__
    &cli_command_run,
#endif
    &cli_command_report,
    &cli_command_fit,
    &cli_command_tune,
    &cli_command_replay,
    &cli_command_diff,
    &cli_command_view,
    &cli_command_convert,
#ifndef __EMSCRIPTEN__
    &cli_command_lab,
    &cli_command_exec,
    &cli_command_top,
    &cli_command_doctor,
#endif
    &command_version,
    &command_help,
    &command_completion,
    &command_complete,
    NULL,
};

static const struct cli_option root_table[] = {
    {"version", NULL, "show the version", CLI_UNREAD},
    {.name = NULL},
};

static const struct cli_command root = {
    .name = "",
    .operands = "",
    .options = root_table,
    .parts = commands,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] - 1 };

static void show_commands(FILE *out)
{
    fputs("Usage: larder COMMAND [ARGUMENT...]\n"
          "Analyse and simulate GPU memory allocation.\n\nCommands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!commands[i]->is_hidden)
            fprintf(out, "  %-10s %s\n", commands[i]->name,
                    commands[i]->summary);
    }
    fputs("\n'larder help COMMAND' lists the options of a command.\n", out);
}

/* Topics of `help`. */
static const char *command_word(size_t index)
{
    return index < COMMAND_COUNT && !commands[index]->is_hidden
               ? commands[index]->name
               : NULL;
}

/* Reports if there is none. */
static const struct cli_command *find_command(const char *name)
{
    const struct cli_command *found = cli_find_part(&root, name);
    const char *names[COMMAND_COUNT + 1];
    const char *nearest;

    if (found != NULL)
        return found;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    names[COMMAND_COUNT] = NULL;
    nearest = cli_nearest(name, names);
    cli_complain(NULL, "unknown %s '%s'%s%s%s",
                 name[0] == '-' ? "option" : "command", name,
                 nearest != NULL ? "; did you mean '" : "",
                 nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    fputs("Try 'larder help'.\n", stderr);
    return NULL;
}

static int run_version(const struct cli_args *a)
{
    (void)a;
    printf("larder %s\n", larder_version());
    return CLI_EXIT_OK;
}

static int run_help(const struct cli_args *a)
{
    const struct operands *o = a->command->settings;
    const struct cli_command *about, *part;

    if (o->words[0] == NULL) {
        show_commands(stdout);
        return CLI_EXIT_OK;
    }
    about = find_command(o->words[0]);
    if (about == NULL)
        return CLI_EXIT_BAD;
    part = o->words[1] != NULL ? cli_find_part(about, o->words[1]) : about;
    if (part == NULL) {
        cli_complain(NULL, "'%s' has no subcommand '%s'", about->name,
                     o->words[1]);
        fputs("Try 'larder help'.\n", stderr);
        return CLI_EXIT_BAD;
    }
    cli_help_command(part);
    return CLI_EXIT_OK;
}

static int run_completion(const struct cli_args *a)
{
    const struct operands *o = a->command->settings;
    const char *shell = o->words[0];

    if (shell == NULL)
        return cli_bad_usage(a->command,
                             "no shell; expected " COMPLETION_SHELLS);
    if (!completion_print(&root, shell))
        return cli_bad_usage(
            a->command, "no shell '%s'; expected " COMPLETION_SHELLS, shell);
    return CLI_EXIT_OK;
}

static int run_command(int argc, char **argv)
{
    const struct cli_command *command, *part;
    const char *name;

    if (argc < 2) {
        show_commands(stderr);
        return CLI_EXIT_BAD;
    }
    name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    command = find_command(name);
    if (command == NULL)
        return CLI_EXIT_BAD;
    argc -= 2;
    argv += 2;
    if (command == &command_complete)
        return completion_offer(&root, argc, argv) ? CLI_EXIT_OK : CLI_EXIT_NO;
    part = argc > 0 ? cli_find_part(command, argv[0]) : NULL;
    return part != NULL ? cli_run(part, argc - 1, argv + 1)
                        : cli_run(command, argc, argv);
}

/* Output that was not written is an error, whatever else succeeded. */
static int close_output(int status)
{
    int failed = ferror(stdout);

    if (fclose(stdout) == 0 && !failed)
        return status;
    return cli_fail(NULL, "the standard output cannot be written: %s",
                    strerror(errno));
}

int main(int argc, char **argv)
{
    return close_output(run_command(argc, argv));
}
