/* cmd_tune.c - `larder tune` and `larder fit`. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cards.h"
#include "commands.h"
#include "fit_cards.h"
#include "input_list.h"
#include "progress.h"
#include "recording_scope.h"
#include "take_setting.h"
#include "tune_report.h"

enum { JOBS_MAX = 1024 };

struct settings {
    struct tune_options options;
    struct tune_base base;
    larder_device_props card; /* without a name: none was given */
    bool all_cards;           /* `fit` is to try all cards */
    struct input_list inputs;
    char cache[PATH_MAX];
    uint64_t capacity; /* given as such */
    uint64_t jobs;     /* 0: not given */
    bool json;
    bool no_cache;
    bool no_progress;
};

/* ---- options ------------------------------------------------------------ */

static bool take_gpu(struct cli_args *a, void *settings)
{
    struct settings *s = settings;
    struct tool_error error;

    s->all_cards =
        a->command == &cli_command_fit && strcmp(a->value, "all") == 0;
    if (s->all_cards)
        return true;
    if (!card_find(a->value, &s->card, &error))
        return cli_refuse(a, "--gpu: %s", error.text);
    s->options.capacity = s->card.total_bytes;
    s->options.context_bytes = s->card.context_bytes;
    return true;
}

#define ROWS(capacity_help, all)                                               \
    {"capacity", "SIZE", capacity_help,                                        \
     CLI_TAKE(take_capacity, struct settings, capacity)},                      \
        {"gpu", "NAME",                                                        \
         "the card to fit on, as rtx4090: its memory less what the\n"          \
         "driver takes for a process" all,                                     \
         .take = take_gpu},                                                    \
        {"policy", "pytorch|larder|direct", "the current policy (pytorch)",    \
         CLI_TAKE(take_policy, struct settings, base.policy)},                 \
        {"conf", "K:V,...",                                                    \
         "the current settings (default: those recorded in a\n"                \
         "snapshot)",                                                          \
         CLI_TAKE(take_conf, struct settings, base.conf)},                     \
        {"json", NULL, "print one object, for programs",                       \
         CLI_INTO(struct settings, json)},                                     \
        {"jobs", "N", "parallel replays (as many as there are cores)",         \
         CLI_NUMBER(struct settings, jobs, 1, JOBS_MAX)},                      \
        {"no-cache", NULL, "neither read nor write cached results",            \
         CLI_INTO(struct settings, no_cache)},                                 \
    {                                                                          \
        "no-progress", NULL, "show no progress bar",                           \
            CLI_INTO(struct settings, no_progress)                             \
    }

static const struct cli_option tune_table[] = {
    ROWS("the memory to fit in (default: that of the card\n"
         "where a snapshot ran out of memory)",
         ""),
    {.name = NULL},
};

static const struct cli_option fit_table[] = {
    ROWS("the memory to fit in", "; all: each card in\nturn, as a table, which "
                                 "takes as long as fifty of them"),
    {.name = NULL},
};

/* The folder of cached results; there is none without a home folder. */
static void find_cache(struct settings *s)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char folder[PATH_MAX - 64];
    int n = 0;

    if (s->no_cache)
        return;
    if (base != NULL && base[0] == '/')
        n = snprintf(folder, sizeof folder, "%s", base);
    else if (home != NULL && home[0] == '/')
        n = snprintf(folder, sizeof folder, "%s/.cache", home);
    if (n <= 0 || n >= (int)sizeof folder)
        return;
    /* If the folders cannot be created nothing is cached. */
    (void)mkdir(folder, 0700);
    snprintf(s->cache, sizeof s->cache, "%s/larder", folder);
    (void)mkdir(s->cache, 0777);
    s->options.cache = s->cache;
}

static bool check(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (s->capacity > 0 && (s->all_cards || s->card.name[0] != '\0'))
        return cli_wrong(self, "--capacity and --gpu both say what to fit in; "
                               "expected one of them");
    if (s->inputs.count == 0)
        return cli_wrong(self, "no input; expected a TRACE or SNAPSHOT");
    if (!input_list_check(&s->inputs, self))
        return false;
    s->options.threads = s->jobs > 0 ? (unsigned)s->jobs
                         : cores > 0 ? (unsigned)cores
                                     : 1;
    if (s->capacity > 0)
        s->options.capacity = s->capacity;
    find_cache(s);
    if (self == &cli_command_fit && s->options.capacity == 0 && !s->all_cards)
        return cli_wrong(self, "no capacity; expected --capacity SIZE or "
                               "--gpu NAME");
    return true;
}

/* ---- running ------------------------------------------------------------ */

static bool read_inputs(const struct settings *s, struct tune_inputs *out,
                        struct tool_error *error)
{
    for (size_t i = 0; i < s->inputs.count; i++) {
        if (!tune_inputs_add(out, s->inputs.paths[i], &s->base, error))
            return false;
    }
    return true;
}

/* For `fit`, settings are tried only if it does not fit as it is. */
static bool cmd_tune_find(const struct tune_options *options,
                          const struct tune_inputs *inputs, bool always,
                          struct tune *t, struct tool_error *error)
{
    return tune_base(t, inputs, options, error) &&
           ((!always && (tune_fits_now(t) || t->by_beginning)) ||
            tune_search(t, error));
}

static bool cmd_tune_print_json(char *line)
{
    if (line == NULL)
        return false;
    puts(line);
    free(line);
    return true;
}

static bool print(const struct settings *s, bool is_fit, const struct tune *t)
{
    if (s->json)
        return cmd_tune_print_json(is_fit ? tune_fit_json(t) : tune_json(t));
    return is_fit ? fit_report_print(t, s->card.name)
                  : tune_report_print(t, s->card.name);
}

static int run_inputs(const struct cli_command *self, const struct settings *s)
{
    bool is_fit = self == &cli_command_fit;
    struct tune_options options = s->options;
    struct tune_inputs inputs = {0};
    struct progress progress;
    struct tool_error error;
    struct tune t = {0};
    int status = CLI_EXIT_OK;
    bool ok;

    progress_begin(&progress, !s->no_progress, 1);
    options.progress = progress_more;
    options.progress_ctx = &progress;
    ok = read_inputs(s, &inputs, &error) &&
         cmd_tune_find(&options, &inputs, !is_fit, &t, &error);
    progress_end(&progress);
    if (!ok)
        status = cli_fail(self->name, "%s", error.text);
    else if (!print(s, is_fit, &t))
        status = cli_no_memory(self->name);
    else if (is_fit && tune_verdict(&t, &t.candidates[0]) != TUNE_FITS)
        status = CLI_EXIT_NO;
    tune_free(&t);
    tune_inputs_free(&inputs);
    return status;
}

static bool out_of_host_memory(struct tool_error *error)
{
    return tool_fail(error, "out of host memory");
}

/* In the end `t` is that of the last card. */
static bool fit_each(struct fit_cards *f, const struct named_cards *cards,
                     const struct tune_inputs *inputs,
                     struct tune_options *options, struct tune *t,
                     struct tool_error *error)
{
    bool ok = true;

    for (size_t i = 0; ok && i < cards->count; i++) {
        const struct named_card *c = &cards->items[i];

        tune_free(t);
        *t = (struct tune){0};
        options->capacity = c->card.total_bytes;
        options->context_bytes = c->card.context_bytes;
        ok = cmd_tune_find(options, inputs, false, t, error) &&
             (fit_cards_add(f, c, t) || out_of_host_memory(error));
    }
    return ok;
}

static int run_cards(const struct cli_command *self, const struct settings *s)
{
    struct tune_options options = s->options;
    struct tune_inputs inputs = {0};
    struct named_cards cards = {0};
    struct progress progress;
    struct fit_cards f;
    struct tune t = {0};
    struct tool_error error;
    bool ok = (fit_cards_begin(&f, s->json) && named_cards_make(&cards)) ||
              out_of_host_memory(&error);

    progress_begin(&progress, !s->no_progress, cards.count);
    options.progress = progress_more;
    options.progress_ctx = &progress;
    ok = ok && read_inputs(s, &inputs, &error) &&
         fit_each(&f, &cards, &inputs, &options, &t, &error);
    progress_end(&progress);
    ok = ok && (fit_cards_print(&f, &t) || out_of_host_memory(&error));
    tune_free(&t);
    tune_inputs_free(&inputs);
    named_cards_free(&cards);
    fit_cards_free(&f);
    if (!ok)
        return cli_fail(self->name, "%s", error.text);
    return f.fits_one ? CLI_EXIT_OK : CLI_EXIT_NO;
}

static int run(const struct cli_args *a)
{
    const struct settings *s = a->command->settings;

    return s->all_cards ? run_cards(a->command, s) : run_inputs(a->command, s);
}

const struct cli_command cli_command_tune = {
    .name = "tune",
    .summary = "Find the settings under which a recorded job fits, or needs "
               "least.",
    .operands = "TRACE|SNAPSHOT|FOLDER...",
    .text =
        "Every input is replayed under PyTorch's settings and under Larder's "
        "policy; several\n"
        "inputs are the ranks of one job.\n",
    .options = tune_table,
    .settings = &(struct settings){.base.look = recording_scope},
    CLI_TAKE(input_list_take, struct settings, inputs),
    .check = check,
    .run = run,
};

const struct cli_command cli_command_fit = {
    .name = "fit",
    .summary = "Check whether a recorded job fits on a card, and what makes "
               "it fit.",
    .operands = "--capacity SIZE|--gpu NAME TRACE|SNAPSHOT|FOLDER...",
    .text = "The exit status is 0 if what was recorded fits (of all cards: on "
            "one), 1 if it does not\n"
            "or cannot be known to, 2 for bad usage or input.\n",
    .options = fit_table,
    .settings = &(struct settings){.base.look = recording_scope},
    CLI_TAKE(input_list_take, struct settings, inputs),
    .check = check,
    .run = run,
};
