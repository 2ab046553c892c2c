/* cmd_replay.c - `larder replay`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "input_list.h"
#include "new_file.h"
#include "progress.h"
#include "replay/replay.h"
#include "replay_report.h"
#include "take_setting.h"

enum { JOBS_MAX = 1024, HISTORY_MAX = 1 << 30 };

#define REPEAT_UNSET UINT64_MAX

struct settings {
    struct replay_options options;
    const char *conf; /* given as an option */
    const char *placements_path;
    const char *stats_path;
    uint64_t repeat; /* REPEAT_UNSET */
    bool json;
    bool no_progress;
    uint64_t threads; /* 0: not set */
    struct input_list inputs;
};

/* ---- options ----------------------------------------------------------- */

static const struct cli_option replay_table[] = {
    {"policy", "larder|pytorch|direct", "how memory is chosen",
     CLI_TAKE(take_policy, struct settings, options.policy)},
    {"conf", "K:V,...",
     "settings in PyTorch's grammar (default: LARDER_CONF\n"
     "in the environment)",
     CLI_INTO(struct settings, conf)},
    {"pytorch", "VERSION",
     "follow the rules of this release of PyTorch under the\n"
     "policy pytorch: 2.4 to 2.15",
     CLI_INTO(struct settings, options.release)},
    {"device", "SPEC",
     "the device (" REPLAY_DEVICE_DEFAULT ");\n"
     "backing=none unless the spec sets it",
     CLI_TAKE(take_device, struct settings, options.device)},
    {"placements", "FILE",
     "write a line for each allocation:\n"
     "p ID OFFSET, p ID oom or p ID null",
     CLI_INTO(struct settings, placements_path)},
    {"stats", "FILE", "write the allocator's statistics at the end",
     CLI_INTO(struct settings, stats_path)},
    {"stats-every", "N", "also write them after every N operations",
     CLI_NUMBER(struct settings, options.stats_every, 1, INT64_MAX)},
    {"repeat", "N", "timed passes, after a warm-up pass (1); 0: none",
     CLI_NUMBER(struct settings, repeat, 0, REPLAY_REPEAT_MAX)},
    {"min-capacity", NULL,
     "search for the smallest device without any\n"
     "failed allocation",
     CLI_INTO(struct settings, options.min_capacity)},
    {"hints", "N",
     "give hints from the lifetimes in the trace: long if\n"
     "N more allocations precede the free",
     CLI_NUMBER(struct settings, options.hints_after, 1, INT64_MAX)},
    {"history", "N",
     "record the allocator's last N events (2^20 with a\n"
     "snapshot)",
     CLI_NUMBER(struct settings, options.history_events, 1, HISTORY_MAX)},
    {"snapshot", "FILE",
     "write the allocator's snapshot after the first\n"
     "pass, as FILE.pickle or FILE.json",
     CLI_TAKE(take_snapshot_name, struct settings, options.snapshot)},
    {"snapshot-on-oom", "FILE",
     "write a snapshot when an allocation first fails",
     CLI_TAKE(take_snapshot_name, struct settings, options.oom_snapshot)},
    {"summary", NULL, "print the allocator's summary table",
     CLI_INTO(struct settings, options.summary)},
    {"json", NULL, "print one line with an object for each input",
     CLI_INTO(struct settings, json)},
    {"jobs", "N",
     "inputs replayed in parallel (as many as there are\n"
     "cores; 1 with --repeat)",
     CLI_NUMBER(struct settings, threads, 1, JOBS_MAX)},
    {"no-progress", NULL, "show no progress bar",
     CLI_INTO(struct settings, no_progress)},
    {.name = NULL},
};

/* Writing replaces a file, so it must be neither an input nor another output. */
static bool check_outputs(const struct cli_command *self,
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
        if (!input_list_spares(&s->inputs, self, path))
            return false;
        for (size_t k = 0; k < i; k++) {
            if (outputs[k].path != NULL &&
                (strcmp(path, outputs[k].path) == 0 ||
                 same_file(path, outputs[k].path)))
                return cli_wrong(self, "%s and %s name the same file '%s'",
                                 outputs[k].option, outputs[i].option, path);
        }
    }
    return true;
}

static bool check(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;
    struct tool_error error;
    bool files = s->placements_path != NULL || s->stats_path != NULL;

    s->options.repeat = s->repeat == REPEAT_UNSET ? 1 : (unsigned)s->repeat;
    s->options.conf = s->conf != NULL ? s->conf : secure_getenv("LARDER_CONF");
    if (s->inputs.count == 0)
        return cli_wrong(self, "no input; expected a TRACE or SNAPSHOT");
    if (files && s->inputs.count > 1)
        return cli_wrong(self,
                         "--placements and --stats take one input, "
                         "but %zu were given",
                         s->inputs.count);
    if ((s->options.snapshot != NULL || s->options.oom_snapshot != NULL) &&
        s->inputs.count > 1)
        return cli_wrong(self,
                         "--snapshot and --snapshot-on-oom take one "
                         "input, but %zu were given",
                         s->inputs.count);
    if (s->options.stats_every > 0 && s->stats_path == NULL)
        return cli_wrong(self, "--stats-every needs --stats FILE");
    if (s->json && s->options.summary)
        return cli_wrong(self, "--summary cannot be used with --json");
    if (s->conf == NULL && s->options.conf != NULL &&
        larder_conf_check(s->options.conf) != LARDER_OK)
        return cli_wrong(self, "LARDER_CONF: %s", larder_last_error());
    if (s->options.release != NULL &&
        s->options.policy != LARDER_POLICY_DEFAULT &&
        s->options.policy != LARDER_POLICY_PYTORCH)
        return cli_wrong(self,
                         "--pytorch applies to the policy pytorch, not %s",
                         larder_policy_name(s->options.policy));
    if (!replay_check(&s->options, &error))
        return cli_wrong(self, "%s", error.text);
    return input_list_check(&s->inputs, self) && check_outputs(self, s);
}

/* ---- running ----------------------------------------------------------- */

static unsigned thread_count(const struct settings *s)
{
    long cores;

    if (s->threads != 0)
        return (unsigned)s->threads;
    /* Parallel replays would disturb each other's times. */
    if (s->repeat != REPEAT_UNSET)
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
    for (size_t i = 0; i < s->inputs.count; i++) {
        if (jobs[i].ok && !print_results(s, &jobs[i]))
            return false;
    }
    return true;
}

static int print_jobs(const struct settings *s, const struct replay_job *jobs)
{
    int status = CLI_EXIT_OK;
    bool printed =
        s->json ? cmd_replay_print_json(s, jobs)
                : replay_report_print(jobs, s->inputs.count, &s->options);

    if (!printed)
        status = cli_no_memory("replay");
    for (size_t i = 0; i < s->inputs.count; i++) {
        if (jobs[i].ok)
            continue;
        status = cli_fail("replay", "%s", jobs[i].error.text);
    }
    return status;
}

static void run_jobs(const struct settings *s, struct replay_job *jobs)
{
    struct replay_options options = s->options;
    struct progress progress;

    progress_begin(&progress, !s->no_progress, s->inputs.count);
    options.progress = progress_more;
    options.progress_ctx = &progress;
    replay_run_jobs(jobs, s->inputs.count, thread_count(s), &options,
                    progress_input_done, &progress);
    progress_end(&progress);
}

static int run_inputs(const struct settings *s)
{
    struct replay_job *jobs = calloc(s->inputs.count, sizeof *jobs);
    int status;

    if (jobs == NULL)
        return cli_no_memory("replay");
    for (size_t i = 0; i < s->inputs.count; i++)
        jobs[i].path = s->inputs.paths[i];
    run_jobs(s, jobs);
    status = print_jobs(s, jobs);
    for (size_t i = 0; i < s->inputs.count; i++) {
        if (jobs[i].ok)
            replay_result_free(&jobs[i].result);
    }
    free(jobs);
    return status;
}

static int run_replay(const struct cli_args *a)
{
    struct settings *s = a->command->settings;
    struct output placements, stats = {.out = NULL};
    int status = CLI_EXIT_BAD;
    bool ok;

    if (output_open(&placements, "replay", s->placements_path) &&
        output_open(&stats, "replay", s->stats_path)) {
        s->options.placements = placements.out;
        s->options.stats = stats.out;
        status = run_inputs(s);
    }
    ok = status != CLI_EXIT_BAD;
    if (!output_close(&placements, ok) || !output_close(&stats, ok))
        status = CLI_EXIT_BAD;
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
    .settings = &(struct settings){.repeat = REPEAT_UNSET},
    CLI_TAKE(input_list_take_file, struct settings, inputs),
    .check = check,
    .run = run_replay,
};
