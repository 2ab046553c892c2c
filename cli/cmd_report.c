/* cmd_report.c - `larder report` and `larder diff`. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "input_list.h"
#include "ranks_report.h"
#include "snapshot_input.h"
#include "report/report.h"
#include "release_diff.h"
#include "report_cure.h"
#include "terminal.h"

enum { TOP_MAX = 100000, INPUTS_MAX = 2, RANKS_DEFAULT = 16 };

struct settings {
    struct report_options options;
    uint64_t top;
    bool json;
    bool ranks;
    struct input_list inputs;
    struct release_diff_options releases;
};

static bool take_by(struct cli_args *a, void *out)
{
    enum report_by *by = out;

    for (int i = 0; i < BY_COUNT; i++) {
        *by = (enum report_by)i;
        if (strcmp(a->value, report_by_name(*by)) == 0)
            return true;
    }
    return cli_refuse(a,
                      "--by: '%s' is not accepted: expected line, function, "
                      "module or library",
                      a->value);
}

static const struct cli_option report_table[] = {
    {"top", "N", "lines of each list (10; ranks: 16)",
     CLI_NUMBER(struct settings, top, 1, TOP_MAX)},
    {"json", NULL, "print one object, for programs",
     CLI_INTO(struct settings, json)},
    {"paths", NULL, "show whole call paths and file names",
     CLI_INTO(struct settings, options.paths)},
    {"by", "line|function|module|library",
     "group the owners of memory by these (line)",
     CLI_TAKE(take_by, struct settings, options.by)},
    {"tree", NULL, "also print the owners of memory as a call tree",
     CLI_INTO(struct settings, options.tree)},
    {"all", NULL, "print repeated rows, and all of every device",
     CLI_INTO(struct settings, options.all)},
    {"ranks", NULL,
     "a single input is a rank, too; what this prints with\n"
     "--json is an input of another report --ranks",
     CLI_INTO(struct settings, ranks)},
    {.name = NULL},
};

static const struct cli_option diff_table[] = {
    {"top", "N", "lines of the list (10)",
     CLI_NUMBER(struct settings, top, 1, TOP_MAX)},
    {"json", NULL, "print one object, for programs",
     CLI_INTO(struct settings, json)},
    {"from", "VERSION",
     "replay one trace or snapshot under the rules of this\n"
     "release of PyTorch",
     CLI_INTO(struct settings, releases.from)},
    {"to", "VERSION", "and under those of this release",
     CLI_INTO(struct settings, releases.to)},
    {"conf", "K:V,...", "settings for both, in PyTorch's grammar",
     CLI_INTO(struct settings, releases.conf)},
    {.name = NULL},
};

/* The number of inputs that diff takes: two, or one under two releases. */
static size_t wanted_of(const struct settings *s)
{
    return s->releases.from == NULL && s->releases.to == NULL ? INPUTS_MAX : 1;
}

static bool check_inputs(const struct cli_command *self, struct settings *s,
                         size_t wanted)
{
    if (s->inputs.count < wanted)
        return cli_wrong(self, "%zu of %zu inputs given; expected %s",
                         s->inputs.count, wanted, self->operands);
    s->options.top = (size_t)s->top;
    setlocale(LC_CTYPE, "");
    s->options.ascii = !terminal_is_utf8();
    return input_list_check(&s->inputs, self);
}

static bool check_report(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;

    if (!check_inputs(self, s, 1))
        return false;
    s->ranks = s->ranks || s->inputs.count > 1;
    if (s->ranks &&
        (s->options.tree || s->options.paths || s->options.by != BY_LINE))
        return cli_wrong(self, "--by, --tree and --paths are for one snapshot, "
                               "not for ranks");
    return true;
}

static bool check_diff(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;
    size_t wanted = wanted_of(s);

    if (s->inputs.count > wanted)
        return cli_wrong(self, "unexpected '%s'", s->inputs.paths[wanted]);
    if (!check_inputs(self, s, wanted))
        return false;
    if (wanted > 1 && s->releases.conf != NULL)
        return cli_wrong(self, "--conf needs --from and --to");
    return true;
}

static bool read_inputs(const struct cli_command *self,
                        const struct settings *s, struct snapshot **snapshots)
{
    struct tool_error error;

    for (size_t i = 0; i < s->inputs.count; i++) {
        if (!snapshot_input_read(s->inputs.paths[i], &snapshots[i], &error))
            return cli_complain(self->name, "%s", error.text);
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

static int run_report(const struct cli_args *a)
{
    struct settings *s = a->command->settings;
    struct tool_error error;
    char cure_text[REPORT_CURE_TEXT];

    s->options.cure = report_cure_make(cure_text);
    return (s->ranks ? report_many(s, &error) : report_one(s, &error))
               ? CLI_EXIT_OK
               : cli_fail(a->command->name, "%s", error.text);
}

/* Puts its own name in the place of a release. */
static bool is_release(const struct cli_command *self, const char *option,
                       const char **release)
{
    const char *version = *release;

    *release = version != NULL ? release_diff_find(version) : NULL;
    return *release != NULL ||
           cli_wrong(self,
                     "--%s '%s': expected a release of PyTorch from 2.4 to "
                     "2.15, the newest known; --from and --to go together",
                     option, version != NULL ? version : "");
}

/* One program under two releases. */
static int diff_releases(const struct cli_command *self, struct settings *s)
{
    struct tool_error error;
    bool same;

    s->releases.json = s->json;
    if (strcmp(s->inputs.paths[0], "-") == 0)
        return cli_bad_usage(self, "it is read several times: expected the "
                                   "name of a file, not '-'");
    if (!is_release(self, "from", &s->releases.from) ||
        !is_release(self, "to", &s->releases.to))
        return CLI_EXIT_BAD;
    if (s->releases.conf != NULL &&
        larder_conf_check(s->releases.conf) != LARDER_OK)
        return cli_bad_usage(self, "--conf: %s", larder_last_error());
    if (!release_diff_write(s->inputs.paths[0], &s->releases, &same, &error))
        return cli_fail(self->name, "%s", error.text);
    return same ? CLI_EXIT_OK : CLI_EXIT_NO;
}

static int diff_snapshots(const struct cli_command *self,
                          const struct settings *s)
{
    struct snapshot *snapshots[INPUTS_MAX] = {NULL, NULL};
    struct tool_error error;
    bool same = false;
    bool ok = read_inputs(self, s, snapshots);

    if (ok && !report_write_diff(stdout, (const char *const *)s->inputs.paths,
                                 (const struct snapshot *const *)snapshots,
                                 s->json, &s->options, &same, &error))
        ok = cli_complain(self->name, "%s", error.text);
    snapshot_free(snapshots[0]);
    snapshot_free(snapshots[1]);
    if (!ok)
        return CLI_EXIT_BAD;
    return same ? CLI_EXIT_OK : CLI_EXIT_NO;
}

static int run_diff(const struct cli_args *a)
{
    struct settings *s = a->command->settings;

    return wanted_of(s) == 1 ? diff_releases(a->command, s)
                             : diff_snapshots(a->command, s);
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
    .settings = &(struct settings){.json = false},
    .check = check_report,
    CLI_TAKE(input_list_take, struct settings, inputs),
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
    .settings = &(struct settings){.json = false},
    .check = check_diff,
    CLI_TAKE(input_list_take_file, struct settings, inputs),
    .run = run_diff,
};
