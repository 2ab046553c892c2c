/* cmd_replay.c - `larder replay`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "complain.h"
#include "help.h"
#include "new_file.h"
#include "progress.h"
#include "replay/replay.h"
#include "replay_report.h"
#include "same_file.h"
#include "take_capacity.h"
#include "take_setting.h"

enum { JOBS_MAX = 1024, HISTORY_MAX = 1 << 30 };

enum row {
    ROW_POLICY,
    ROW_CONF,
    ROW_PYTORCH,
    ROW_DEVICE,
    ROW_PLACEMENTS,
    ROW_STATS,
    ROW_STATS_EVERY,
    ROW_REPEAT,
    ROW_MIN_CAPACITY,
    ROW_HINTS,
    ROW_HISTORY,
    ROW_SNAPSHOT,
    ROW_SNAPSHOT_ON_OOM,
    ROW_SUMMARY,
    ROW_JSON,
    ROW_JOBS,
    ROW_NO_PROGRESS
};

static const struct cli_option replay_table[] = {
    [ROW_POLICY] = {"policy", "larder|pytorch|direct", "how memory is chosen"},
    [ROW_CONF] = {"conf", "K:V,...",
                  "settings in PyTorch's grammar (default: LARDER_CONF\n"
                  "in the environment)"},
    [ROW_PYTORCH] = {"pytorch", "VERSION",
                     "follow the rules of this release of PyTorch under the\n"
                     "policy pytorch: 2.4 to 2.15"},
    [ROW_DEVICE] = {"device", "SPEC",
                    "the device (" REPLAY_DEVICE_DEFAULT ");\n"
                    "backing=none unless the spec sets it"},
    [ROW_PLACEMENTS] = {"placements", "FILE",
                        "write a line for each allocation:\n"
                        "p ID OFFSET, p ID oom or p ID null"},
    [ROW_STATS] = {"stats", "FILE",
                   "write the allocator's statistics at the end"},
    [ROW_STATS_EVERY] = {"stats-every", "N",
                         "also write them after every N operations"},
    [ROW_REPEAT] = {"repeat", "N",
                    "timed passes, after a warm-up pass (1); 0: none"},
    [ROW_MIN_CAPACITY] = {"min-capacity", NULL,
                          "search for the smallest device without any\n"
                          "failed allocation"},
    [ROW_HINTS] = {"hints", "N",
                   "give hints from the lifetimes in the trace: long if\n"
                   "N more allocations precede the free"},
    [ROW_HISTORY] = {"history", "N",
                     "record the allocator's last N events (2^20 with a\n"
                     "snapshot)"},
    [ROW_SNAPSHOT] = {"snapshot", "FILE",
                      "write the allocator's snapshot after the first\n"
                      "pass, as FILE.pickle or FILE.json"},
    [ROW_SNAPSHOT_ON_OOM] = {"snapshot-on-oom", "FILE",
                             "write a snapshot when an allocation first fails"},
    [ROW_SUMMARY] = {"summary", NULL, "print the allocator's summary table"},
    [ROW_JSON] = {"json", NULL, "print one line with an object for each input"},
    [ROW_JOBS] = {"jobs", "N",
                  "inputs replayed in parallel (as many as there are\n"
                  "cores; 1 with --repeat)"},
    [ROW_NO_PROGRESS] = {"no-progress", NULL, "show no progress bar"},
    {NULL, NULL, NULL},
};

struct settings {
    struct replay_options options;
    const char *placements_path;
    const char *stats_path;
    bool conf_set;
    bool stats_every_set;
    bool repeat_set;
    bool json;
    bool no_progress;
    uint64_t threads; /* 0: not set */
    const char **paths;
    size_t path_count;
};

/* ---- options ----------------------------------------------------------- */

static bool set_repeat(struct settings *s, const struct cli_args *a)
{
    uint64_t n;

    if (!cli_number(a, ROW_REPEAT, 0, REPLAY_REPEAT_MAX, &n))
        return false;
    s->options.repeat = (unsigned)n;
    s->repeat_set = true;
    return true;
}

/* The name determines the format. */
static bool set_snapshot(const char **path, const struct cli_args *a)
{
    const char *dot = strrchr(a->value, '.');

    *path = a->value;
    if (dot != NULL &&
        (strcmp(dot, ".pickle") == 0 || strcmp(dot, ".json") == 0))
        return true;
    cli_bad_usage(a->command,
                  "snapshot '%s': expected a name ending in .pickle or .json",
                  a->value);
    return false;
}

static bool cmd_replay_set_option(struct settings *s, const struct cli_args *a,
                                  int row)
{
    switch ((enum row)row) {
    case ROW_POLICY:
        return take_policy(a, &s->options.policy);
    case ROW_CONF:
        s->options.conf = a->value;
        s->conf_set = true;
        break;
    case ROW_PYTORCH:
        s->options.release = a->value;
        break;
    case ROW_DEVICE:
        s->options.device = a->value;
        return take_capacity_check(a, row);
    case ROW_PLACEMENTS:
        s->placements_path = a->value;
        break;
    case ROW_STATS:
        s->stats_path = a->value;
        break;
    case ROW_STATS_EVERY:
        s->stats_every_set = true;
        return cli_number(a, row, 1, INT64_MAX, &s->options.stats_every);
    case ROW_REPEAT:
        return set_repeat(s, a);
    case ROW_MIN_CAPACITY:
        s->options.min_capacity = true;
        break;
    case ROW_HINTS:
        return cli_number(a, row, 1, INT64_MAX, &s->options.hints_after);
    case ROW_HISTORY:
        return cli_number(a, row, 1, HISTORY_MAX, &s->options.history_events);
    case ROW_SNAPSHOT:
        return set_snapshot(&s->options.snapshot, a);
    case ROW_SNAPSHOT_ON_OOM:
        return set_snapshot(&s->options.oom_snapshot, a);
    case ROW_SUMMARY:
        s->options.summary = true;
        break;
    case ROW_JSON:
        s->json = true;
        break;
    case ROW_JOBS:
        return cli_number(a, row, 1, JOBS_MAX, &s->threads);
    case ROW_NO_PROGRESS:
        s->no_progress = true;
        break;
    }
    return true;
}

/* Writing replaces a file, so it must be neither an input nor another output. */
static int check_outputs(const struct cli_command *self,
                         const struct settings *s)
{
    const struct {
        const char *option;
        const char *path; /* NULL: not given */
    } outputs[] = {{"--placements", s->placements_path},
                   {"--stats", s->stats_path},
                   {"--snapshot", s->options.snapshot},
                   {"--snapshot-on-oom", s->options.oom_snapshot}};

    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        const char *path = outputs[i].path;

        if (path == NULL || strcmp(path, "-") == 0)
            continue;
        if (cli_check_output(self, path, s->paths, s->path_count) !=
            CLI_EXIT_OK)
            return CLI_EXIT_BAD;
        for (size_t k = 0; k < i; k++) {
            if (outputs[k].path != NULL &&
                (strcmp(path, outputs[k].path) == 0 ||
                 same_file(path, outputs[k].path)))
                return cli_bad_usage(self, "%s and %s name the same file '%s'",
                                     outputs[k].option, outputs[i].option,
                                     path);
        }
    }
    return CLI_EXIT_OK;
}

/* Reject combinations that make no sense. */
static int check_settings(const struct cli_command *self,
                          const struct settings *s)
{
    struct tool_error error;
    bool files = s->placements_path != NULL || s->stats_path != NULL;

    if (s->path_count == 0)
        return cli_bad_usage(self, "no input; expected a TRACE or SNAPSHOT");
    if (files && s->path_count > 1)
        return cli_bad_usage(self,
                             "--placements and --stats take one input, "
                             "but %zu were given",
                             s->path_count);
    if ((s->options.snapshot != NULL || s->options.oom_snapshot != NULL) &&
        s->path_count > 1)
        return cli_bad_usage(self,
                             "--snapshot and --snapshot-on-oom take one "
                             "input, but %zu were given",
                             s->path_count);
    if (s->stats_every_set && s->stats_path == NULL)
        return cli_bad_usage(self, "--stats-every needs --stats FILE");
    if (s->json && s->options.summary)
        return cli_bad_usage(self, "--summary cannot go with --json");
    if (!s->conf_set && s->options.conf != NULL &&
        larder_conf_check(s->options.conf) != LARDER_OK)
        return cli_bad_usage(self, "LARDER_CONF: %s", larder_last_error());
    if (s->options.release != NULL &&
        s->options.policy != LARDER_POLICY_DEFAULT &&
        s->options.policy != LARDER_POLICY_PYTORCH)
        return cli_bad_usage(self,
                             "--pytorch is about the policy pytorch, not %s",
                             larder_policy_name(s->options.policy));
    if (!replay_check(&s->options, &error))
        return cli_bad_usage(self, "%s", error.text);
    if (cli_check_inputs(self, s->paths, s->path_count) != CLI_EXIT_OK)
        return CLI_EXIT_BAD;
    return check_outputs(self, s);
}

static bool cmd_replay_take(void *ctx, const struct cli_args *a, int got)
{
    struct settings *s = ctx;

    if (got != CLI_OPERAND)
        return cmd_replay_set_option(s, a, got);
    s->paths[s->path_count++] = a->value;
    return true;
}

/* Returns an exit status, or -1 to continue. */
static int cmd_replay_read_settings(const struct cli_command *self, int argc,
                                    char **argv, struct settings *s)
{
    int status = cli_read(self, argc, argv, cmd_replay_take, s);

    return status >= 0 || check_settings(self, s) == CLI_EXIT_OK ? status
                                                                 : CLI_EXIT_BAD;
}

/* ---- files ------------------------------------------------------------- */

struct output {
    const char *path; /* NULL: none */
    struct new_file file;
    FILE *out; /* NULL: not open */
};

static bool cannot_be_written(const struct output *o)
{
    cli_complain("replay", "%s: cannot be written: %s", o->path, o->file.why);
    return false;
}

static bool open_output(struct output *o)
{
    if (o->path == NULL)
        return true;
    if (strcmp(o->path, "-") == 0)
        o->out = stdout;
    else if (!new_file_open(&o->file, o->path))
        return cannot_be_written(o);
    else
        o->out = o->file.out;
    return true;
}

/* main() closes the standard output, and checks it. */
static bool close_output(struct output *o, bool ok)
{
    if (o->out == NULL || o->out == stdout)
        return true;
    return new_file_close(&o->file, ok) || cannot_be_written(o);
}

/* ---- running ----------------------------------------------------------- */

static unsigned thread_count(const struct settings *s)
{
    long cores;

    if (s->threads != 0)
        return (unsigned)s->threads;
    /* Parallel replays would disturb each other's times. */
    if (s->repeat_set)
        return 1;
    cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

static bool print_results(const struct settings *s,
                          const struct replay_job *job)
{
    for (const struct replay_result *r = &job->result; r != NULL; r = r->next) {
        char *line = replay_result_json(r, job->path, &s->options);

        if (line == NULL)
            return false;
        puts(line);
        free(line);
    }
    return true;
}

static bool cmd_replay_print_json(const struct settings *s,
                                  const struct replay_job *jobs)
{
    for (size_t i = 0; i < s->path_count; i++) {
        if (jobs[i].ok && !print_results(s, &jobs[i]))
            return false;
    }
    return true;
}

static int print_jobs(const struct settings *s, const struct replay_job *jobs)
{
    int status = CLI_EXIT_OK;
    bool printed = s->json
                       ? cmd_replay_print_json(s, jobs)
                       : replay_report_print(jobs, s->path_count, &s->options);

    if (!printed) {
        fputs("larder replay: out of host memory\n", stderr);
        status = CLI_EXIT_BAD;
    }
    for (size_t i = 0; i < s->path_count; i++) {
        if (jobs[i].ok)
            continue;
        cli_complain("replay", "%s", jobs[i].error.text);
        status = CLI_EXIT_BAD;
    }
    return status;
}

static void run_jobs(const struct settings *s, struct replay_job *jobs)
{
    struct replay_options options = s->options;
    struct progress progress;

    progress_begin(&progress, !s->no_progress, s->path_count);
    options.progress = progress_more;
    options.progress_ctx = &progress;
    replay_run_jobs(jobs, s->path_count, thread_count(s), &options,
                    progress_input_done, &progress);
    progress_end(&progress);
}

static int run_inputs(const struct settings *s)
{
    struct replay_job *jobs = calloc(s->path_count, sizeof *jobs);
    int status;

    if (jobs == NULL) {
        fputs("larder replay: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    for (size_t i = 0; i < s->path_count; i++)
        jobs[i].path = s->paths[i];
    run_jobs(s, jobs);
    status = print_jobs(s, jobs);
    for (size_t i = 0; i < s->path_count; i++) {
        if (jobs[i].ok)
            replay_result_free(&jobs[i].result);
    }
    free(jobs);
    return status;
}

static int run_with_outputs(struct settings *s)
{
    struct output placements = {.path = s->placements_path};
    struct output stats = {.path = s->stats_path};
    int status = CLI_EXIT_BAD;
    bool ok;

    if (open_output(&placements) && open_output(&stats)) {
        s->options.placements = placements.out;
        s->options.stats = stats.out;
        status = run_inputs(s);
    }
    ok = status != CLI_EXIT_BAD;
    if (!close_output(&placements, ok) || !close_output(&stats, ok))
        status = CLI_EXIT_BAD;
    return status;
}

static int run_replay(const struct cli_command *self, int argc, char **argv)
{
    struct settings s = {.options = {.repeat = 1}};
    int status;

    s.options.conf = secure_getenv("LARDER_CONF");
    s.paths = calloc((size_t)argc, sizeof *s.paths);
    if (s.paths == NULL) {
        fputs("larder replay: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    status = cmd_replay_read_settings(self, argc, argv, &s);
    if (status < 0)
        status = run_with_outputs(&s);
    free(s.paths);
    return status;
}

const struct cli_command cli_command_replay = {
    .name = "replay",
    .summary = "Run recorded allocations through an allocator; report what "
               "they needed.",
    .operands = "TRACE|SNAPSHOT...",
    .text = "TRACE is a text trace, plain or compressed with zstd; '-' is the "
            "standard input.\n"
            "SNAPSHOT is one of PyTorch's, pickle or JSON; each device with "
            "events is replayed.\n"
            "Without --policy and --conf it is replayed under the recorded "
            "settings and compared\n"
            "with the recording.\n"
            "FILE '-' is the standard output.\n"
            "The exit status is 0 when every replay was completed, even if "
            "allocations failed, and\n"
            "2 for bad usage or input.\n",
    .options = replay_table,
    .run = run_replay,
};
