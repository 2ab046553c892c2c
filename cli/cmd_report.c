/* cmd_report.c - `larder report` and `larder diff`. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "help.h"
#include "input_list.h"
#include "ranks_report.h"
#include "snapshot_input.h"
#include "report/report.h"
#include "release_diff.h"
#include "report_cure.h"

enum { TOP_MAX = 100000, INPUTS_MAX = 2, RANKS_DEFAULT = 16 };

enum row { ROW_TOP, ROW_JSON, ROW_PATHS, ROW_BY, ROW_TREE, ROW_ALL, ROW_RANKS };

/* Options of diff; the first two are shared. */
enum diff_row { DIFF_FROM = ROW_JSON + 1, DIFF_TO, DIFF_CONF };

static const struct cli_option report_table[] = {
    [ROW_TOP] = {"top", "N", "lines of each list (10; ranks: 16)"},
    [ROW_JSON] = {"json", NULL, "print one object, for programs"},
    [ROW_PATHS] = {"paths", NULL, "show whole call paths and file names"},
    [ROW_BY] = {"by", "line|function|module|library",
                "group the owners of memory by these (line)"},
    [ROW_TREE] = {"tree", NULL,
                  "also print the owners of memory as a call tree"},
    [ROW_ALL] = {"all", NULL, "print repeated rows, and all of every device"},
    [ROW_RANKS] = {"ranks", NULL,
                   "a single input is a rank, too; what this prints with\n"
                   "--json is an input of another report --ranks"},
    {NULL, NULL, NULL},
};

static const struct cli_option diff_table[] = {
    [ROW_TOP] = {"top", "N", "lines of the list (10)"},
    [ROW_JSON] = {"json", NULL, "print one object, for programs"},
    [DIFF_FROM] = {"from", "VERSION",
                   "replay one trace or snapshot under the rules of this\n"
                   "release of PyTorch"},
    [DIFF_TO] = {"to", "VERSION", "and under those of this release"},
    [DIFF_CONF] = {"conf", "K:V,...",
                   "settings for both, in PyTorch's grammar"},
    {NULL, NULL, NULL},
};

struct settings {
    struct report_options options;
    bool json;
    bool ranks;
    const char *paths[INPUTS_MAX];
    size_t path_count;
    size_t wanted;            /* number of inputs */
    struct input_list inputs; /* of report */
    struct release_diff_options releases;
};

static bool set_by(struct settings *s, const struct cli_args *a)
{
    for (int by = 0; by < BY_COUNT; by++) {
        s->options.by = (enum report_by)by;
        if (strcmp(a->value, report_by_name(s->options.by)) == 0)
            return true;
    }
    cli_bad_usage(a->command,
                  "--by: '%s' is not accepted: expected line, function, "
                  "module or library",
                  a->value);
    return false;
}

static bool set_top(struct settings *s, const struct cli_args *a, int row)
{
    uint64_t top;

    if (!cli_number(a, row, 1, TOP_MAX, &top))
        return false;
    s->options.top = (size_t)top;
    return true;
}

static bool cmd_report_set_option(struct settings *s, const struct cli_args *a,
                                  int row)
{
    switch ((enum row)row) {
    case ROW_TOP:
        return set_top(s, a, row);
    case ROW_JSON:
        s->json = true;
        break;
    case ROW_PATHS:
        s->options.paths = true;
        break;
    case ROW_BY:
        return set_by(s, a);
    case ROW_TREE:
        s->options.tree = true;
        break;
    case ROW_ALL:
        s->options.all = true;
        break;
    case ROW_RANKS:
        s->ranks = true;
        break;
    }
    return true;
}

static bool set_diff_option(struct settings *s, const struct cli_args *a,
                            int row)
{
    switch (row) {
    case DIFF_FROM:
        s->releases.from = a->value;
        break;
    case DIFF_TO:
        s->releases.to = a->value;
        break;
    case DIFF_CONF:
        s->releases.conf = a->value;
        return true;
    default:
        return cmd_report_set_option(s, a, row);
    }
    s->wanted = 1;
    return true;
}

static bool cmd_report_take(void *ctx, const struct cli_args *a, int got)
{
    struct settings *s = ctx;

    if (got != CLI_OPERAND)
        return a->command == &cli_command_diff
                   ? set_diff_option(s, a, got)
                   : cmd_report_set_option(s, a, got);
    if (a->command == &cli_command_report)
        return input_list_take(&s->inputs, a);
    if (s->path_count == s->wanted) {
        cli_bad_usage(a->command, "unexpected '%s'", a->value);
        return false;
    }
    s->paths[s->path_count++] = a->value;
    return true;
}

/* Returns an exit status, or -1 to continue. */
static int cmd_report_read_settings(const struct cli_command *self, int argc,
                                    char **argv, struct settings *s)
{
    int status = cli_read(self, argc, argv, cmd_report_take, s);

    if (status >= 0)
        return status;
    if (s->path_count + s->inputs.count < s->wanted)
        return cli_bad_usage(self, "%zu of %zu inputs given; expected %s",
                             s->path_count, s->wanted, self->operands);
    if (cli_check_inputs(self, s->paths, s->path_count) != CLI_EXIT_OK ||
        cli_check_inputs(self, (const char *const *)s->inputs.paths,
                         s->inputs.count) != CLI_EXIT_OK)
        return CLI_EXIT_BAD;
    setlocale(LC_CTYPE, "");
    s->options.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    return -1;
}

static bool cmd_report_fail(const struct cli_command *self,
                            const struct tool_error *error)
{
    cli_complain(self->name, "%s", error->text);
    return false;
}

static bool read_inputs(const struct cli_command *self,
                        const struct settings *s, struct snapshot **snapshots)
{
    struct tool_error error;

    for (size_t i = 0; i < s->path_count; i++) {
        if (!snapshot_input_read(s->paths[i], &snapshots[i], &error))
            return cmd_report_fail(self, &error);
    }
    return true;
}

static bool report_one(const struct settings *s, struct tool_error *error)
{
    const char *path = s->inputs.paths[0];
    struct snapshot *snapshot = NULL;
    bool ok = snapshot_input_read(path, &snapshot, error);

    if (ok)
        ok =
            s->json
                ? report_write_json(stdout, path, snapshot, &s->options, error)
                : report_write_text(stdout, path, snapshot, &s->options, error);
    snapshot_free(snapshot);
    return ok;
}

/* Snapshots are read one by one: of each only a few figures stay. */
static bool report_many(const struct settings *s, struct tool_error *error)
{
    struct report_ranks ranks = {0};
    size_t rows = s->options.top > 0 ? s->options.top : RANKS_DEFAULT;
    bool ok = true;

    for (size_t i = 0; ok && i < s->inputs.count; i++)
        ok = ranks_report_read(&ranks, s->inputs.paths[i], error);
    if (ok && ranks.count == 0)
        ok = tool_fail(error, "no ranks in the inputs");
    if (ok)
        ok = s->json
                 ? report_ranks_write_json(stdout, &ranks, error)
                 : ranks_report_print(&ranks, &s->options,
                                      s->options.all ? SIZE_MAX : rows, error);
    report_ranks_free(&ranks);
    return ok;
}

static int run_report(const struct cli_command *self, int argc, char **argv)
{
    struct settings s = {.wanted = 1};
    struct tool_error error;
    int status = cmd_report_read_settings(self, argc, argv, &s);
    char why[REPORT_CURE_WHY];
    bool ok;

    s.ranks = s.ranks || s.inputs.count > 1;
    if (status < 0 && s.ranks &&
        (s.options.tree || s.options.paths || s.options.by != BY_LINE))
        status = cli_bad_usage(self, "--by, --tree and --paths are for one "
                                     "snapshot, not for ranks");
    if (status < 0) {
        s.options.cure = report_cure_make(why);
        ok = s.ranks ? report_many(&s, &error) : report_one(&s, &error);
        if (!ok)
            cmd_report_fail(self, &error);
        status = ok ? CLI_EXIT_OK : CLI_EXIT_BAD;
    }
    input_list_free(&s.inputs);
    return status;
}

/* Puts its own name in the place of a release. */
static bool is_release(const struct cli_command *self, const char *option,
                       const char **release)
{
    const char *version = *release;

    *release = version != NULL ? release_diff_find(version) : NULL;
    if (*release != NULL)
        return true;
    cli_bad_usage(self,
                  "--%s '%s': expected a release of PyTorch from 2.4 to "
                  "2.15, the newest known; --from and --to go together",
                  option, version != NULL ? version : "");
    return false;
}

/* One program under two releases. */
static int diff_releases(const struct cli_command *self, struct settings *s)
{
    struct tool_error error;
    bool same;

    s->releases.json = s->json;
    if (strcmp(s->paths[0], "-") == 0)
        return cli_bad_usage(self, "it is read several times: expected the "
                                   "name of a file, not '-'");
    if (!is_release(self, "from", &s->releases.from) ||
        !is_release(self, "to", &s->releases.to))
        return CLI_EXIT_BAD;
    if (s->releases.conf != NULL &&
        larder_conf_check(s->releases.conf) != LARDER_OK)
        return cli_bad_usage(self, "--conf: %s", larder_last_error());
    if (!release_diff_write(s->paths[0], &s->releases, &same, &error)) {
        cmd_report_fail(self, &error);
        return CLI_EXIT_BAD;
    }
    return same ? CLI_EXIT_OK : CLI_EXIT_NO;
}

static int run_diff(const struct cli_command *self, int argc, char **argv)
{
    struct settings s = {.wanted = INPUTS_MAX};
    struct snapshot *snapshots[INPUTS_MAX] = {NULL, NULL};
    struct tool_error error;
    int status = cmd_report_read_settings(self, argc, argv, &s);
    bool same = false;
    bool ok;

    if (status >= 0)
        return status;
    if (s.wanted == 1)
        return diff_releases(self, &s);
    if (s.releases.conf != NULL)
        return cli_bad_usage(self, "--conf goes with --from and --to");
    ok = read_inputs(self, &s, snapshots);
    if (ok && !report_write_diff(stdout, s.paths,
                                 (const struct snapshot *const *)snapshots,
                                 s.json, &s.options, &same, &error))
        ok = cmd_report_fail(self, &error);
    snapshot_free(snapshots[0]);
    snapshot_free(snapshots[1]);
    if (!ok)
        return CLI_EXIT_BAD;
    return same ? CLI_EXIT_OK : CLI_EXIT_NO;
}

const struct cli_command cli_command_report = {
    .name = "report",
    .summary = "Explain where memory went in a snapshot, and why it ran out.",
    .operands = "SNAPSHOT|FOLDER...",
    .text =
        "SNAPSHOT is a file of torch.cuda.memory._dump_snapshot() or of "
        "Larder: pickle or\n"
        "JSON, plain or compressed with zstd; '-' is the standard input.  A "
        "trace works, too:\n"
        "it is replayed under PyTorch's policy and defaults.\n"
        "Several, or a FOLDER of them, are the ranks of one job: the worst "
        "one, the spread, the\n"
        "outliers, what they have in common, and a table.\n",
    .options = report_table,
    .run = run_report,
};

const struct cli_command cli_command_diff = {
    .name = "diff",
    .summary = "Compare two snapshots: peaks, calls, and owners of memory.",
    .operands = "SNAPSHOT SNAPSHOT",
    .text = "With --from and --to, one trace or snapshot: what changes for it "
            "between two releases\n"
            "of PyTorch, by which rule, and which setting restores the old "
            "behaviour.\n"
            "The exit status is 0 when peaks, allocations and failures are the "
            "same, 1 when they\n"
            "differ, 2 for bad usage or input.\n",
    .options = diff_table,
    .run = run_diff,
};
