/* cmd_view.c - `larder view`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "new_file.h"
#include "snapshot_input.h"
#include "view/view.h"

enum { RUNS_MOST = 2, TITLE_MAX = 512 };

enum row { ROW_OUTPUT, ROW_O, ROW_TITLE };

static const struct cli_option view_table[] = {
    [ROW_OUTPUT] = {"output", "FILE",
                    "where the page goes; '-': the standard\n"
                    "output"},
    [ROW_O] = {"o", "FILE", "the same"},
    [ROW_TITLE] = {"title", "TEXT", "what stands above it (the files' names)"},
    {NULL, NULL, NULL},
};

struct settings {
    const char *output;
    const char *title;
    const char *paths[RUNS_MOST];
    size_t path_count;
};

static bool take(void *ctx, const struct cli_args *a, int got)
{
    struct settings *s = ctx;

    if (got == ROW_TITLE) {
        s->title = a->value;
    } else if (got != CLI_OPERAND) {
        s->output = a->value;
    } else if (s->path_count == RUNS_MOST) {
        cli_bad_usage(a->command, "unexpected '%s': at most %d inputs",
                      a->value, RUNS_MOST);
        return false;
    } else {
        s->paths[s->path_count++] = a->value;
    }
    return true;
}

/* An exit status, or -1 to go on. */
static int read_settings(const struct cli_command *self, int argc, char **argv,
                         struct settings *s)
{
    int status = cli_read(self, argc, argv, take, s);

    if (status >= 0)
        return status;
    if (s->path_count == 0)
        return cli_bad_usage(self, "no input; expected a SNAPSHOT");
    if (s->output == NULL)
        return cli_bad_usage(self, "no output; expected -o FILE");
    return -1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool fail(const char *text)
{
    fprintf(stderr, "larder view: %s\n", text);
    return false;
}

static bool write_runs(const struct settings *s, const struct view_run *runs,
                       FILE *out)
{
    char title[TITLE_MAX];
    struct tool_error error;

    if (s->path_count > 1)
        snprintf(title, sizeof(title), "%s and %s", runs[0].name, runs[1].name);
    else
        snprintf(title, sizeof(title), "%s", runs[0].name);
    return view_write(out, s->title != NULL ? s->title : title, runs,
                      s->path_count, &error) ||
           fail(error.text);
}

/* The page appears whole or not at all: what was there before stays until
 * then. */
static bool write_file(const struct settings *s, const struct view_run *runs)
{
    struct new_file file;
    bool ok;

    if (strcmp(s->output, "-") == 0)
        return write_runs(s, runs, stdout);
    ok = new_file_open(&file, s->output);
    if (ok) {
        bool made = write_runs(s, runs, file.out);

        ok = new_file_close(&file, made);
        if (ok && !made)
            return false;
    }
    if (!ok)
        fprintf(stderr, "larder view: %s: cannot be written: %s\n", s->output,
                file.why);
    return ok;
}

static bool read_runs(const struct settings *s, struct view_run *runs,
                      struct snapshot **snapshots)
{
    struct tool_error error;

    for (size_t i = 0; i < s->path_count; i++) {
        if (!snapshot_input_read(s->paths[i], &snapshots[i], &error))
            return fail(error.text);
        runs[i].name = base_name(s->paths[i]);
        runs[i].snapshot = snapshots[i];
    }
    return true;
}

static int run_view(const struct cli_command *self, int argc, char **argv)
{
    struct settings s = {0};
    struct view_run runs[RUNS_MOST] = {{0}};
    struct snapshot *snapshots[RUNS_MOST] = {NULL};
    int status = read_settings(self, argc, argv, &s);

    if (status >= 0)
        return status;
    status = read_runs(&s, runs, snapshots) && write_file(&s, runs)
                 ? CLI_EXIT_OK
                 : CLI_EXIT_BAD;
    for (size_t i = 0; i < s.path_count; i++)
        snapshot_free(snapshots[i]);
    return status;
}

const struct cli_command cli_command_view = {
    .name = "view",
    .summary = "Make a page of a snapshot, to look at in a browser.",
    .operands = "SNAPSHOT [SNAPSHOT] -o FILE.html",
    .text = "SNAPSHOT is what torch.cuda.memory._dump_snapshot() or Larder "
            "wrote: pickle or JSON,\n"
            "plain or compressed with zstd; '-' is the standard input.  A "
            "trace will do as\nwell: it is replayed, as larder replay does "
            "without options.  Two are drawn on one\naxis.\n"
            "The page holds all it needs; it asks nothing of a network.\n",
    .options = view_table,
    .run = run_view,
};
