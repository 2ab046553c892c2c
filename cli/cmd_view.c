/* cmd_view.c - `larder view`. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app_page.h"
#include "commands.h"
#include "environment.h"
#include "input_list.h"
#include "new_file.h"
#include "open_browser.h"
#include "report/ranks.h"
#include "report_cure.h"
#include "snapshot/plain_text.h"
#include "snapshot_input.h"
#include "trace/ends_with.h"
#include "view/view.h"

enum { RUNS_MAX = 2, TITLE_MAX = 512 };

struct settings {
    const char *output;
    const char *title;
    struct input_list inputs;
    const char *paths[RUNS_MAX]; /* those that are shown */
    size_t path_count;
    bool open;
    bool app;
    bool beside; /* the page's name was chosen here */
    char temporary[PATH_MAX];
};

static const struct cli_option view_table[] = {
    {"output", "FILE",
     "the page's file; '-': the standard output\n"
     "(the snapshot's name with the ending .html, which\n"
     "is printed)",
     CLI_INTO(struct settings, output)},
    {"o", "FILE", "the same as --output", CLI_INTO(struct settings, output)},
    {"title", "TEXT", "title of the page (the files' names)",
     CLI_INTO(struct settings, title)},
    {"open", NULL,
     "open it in a browser ($BROWSER, or the\n"
     "desktop's); without -o, a temporary file\n"
     "that is kept",
     CLI_INTO(struct settings, open)},
    {"app", NULL,
     "without SNAPSHOT: a page that analyses those\n"
     "dropped into it, as this command does",
     CLI_INTO(struct settings, app)},
    {.name = NULL},
};

/* Next to the first input, with its name; nowhere if it comes from a pipe. */
static bool name_page(struct settings *s)
{
    static const char *const endings[] = {".zst", ".pickle", ".json", ".trace"};
    int length;

    if (s->path_count == 0 || strcmp(s->paths[0], "-") == 0)
        return false;
    length = snprintf(s->temporary, PATH_MAX, "%s", s->paths[0]);
    if (length + (int)sizeof ".html" > PATH_MAX)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends_with(s->temporary, endings[i]))
            s->temporary[strlen(s->temporary) - strlen(endings[i])] = '\0';
    }
    strcat(s->temporary, ".html");
    s->output = s->temporary;
    s->beside = true;
    return true;
}

static bool check_output(const struct cli_command *self, struct settings *s)
{
    if (s->output == NULL && !s->open && !name_page(s))
        return cli_wrong(self, "no output; expected -o FILE, or --open");
    if (s->output == NULL)
        return true;
    if (s->open && strcmp(s->output, "-") == 0)
        return cli_wrong(self, "--open with the standard output; expected "
                               "-o FILE, or no -o");
    return input_list_spares(&s->inputs, self, s->output);
}

static bool read_ranks(const struct input_list *inputs,
                       struct report_ranks *ranks)
{
    struct tool_error error;
    bool ok = true;

    for (size_t i = 0; ok && i < inputs->count; i++) {
        struct snapshot *snapshot = NULL;

        ok = snapshot_input_read(inputs->paths[i], &snapshot, &error) &&
             report_ranks_add(ranks, inputs->paths[i], snapshot, &error);
        snapshot_free(snapshot);
    }
    return ok || cli_complain("view", "%s", error.text);
}

/* The input of that name. */
static const char *input_of(const struct input_list *inputs, const char *file)
{
    size_t i = 0;

    while (strcmp(inputs->paths[i], file) != 0)
        i++;
    return inputs->paths[i];
}

/* Of more inputs than a page shows (the ranks of one job), the worst and the
 * median. */
static bool choose_runs(struct settings *s)
{
    struct report_ranks ranks = {0};
    const struct input_list *in = &s->inputs;
    bool ok;

    if (in->count <= RUNS_MAX) {
        for (size_t i = 0; i < in->count; i++)
            s->paths[s->path_count++] = in->paths[i];
        return true;
    }
    ok = read_ranks(in, &ranks);
    if (ok) {
        const char *worst = ranks.items[report_ranks_worst(&ranks)].file;
        const char *median = report_ranks_middle(&ranks).rank->file;

        s->paths[s->path_count++] = input_of(in, worst);
        if (strcmp(worst, median) != 0)
            s->paths[s->path_count++] = input_of(in, median);
    }
    report_ranks_free(&ranks);
    return ok;
}

static bool check(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;

    if (s->inputs.count == 0 && !s->app)
        return cli_wrong(self, "no input; expected a SNAPSHOT, or --app");
    if (s->app && (s->inputs.count > 0 || s->title != NULL))
        return cli_wrong(self,
                         "--app takes no %s: it reads snapshots in the browser",
                         s->inputs.count > 0 ? "SNAPSHOT" : "--title");
    return input_list_check(&s->inputs, self) && choose_runs(s) &&
           check_output(self, s);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool write_runs(const struct settings *s, const struct view_run *runs,
                       FILE *out)
{
    char title[TITLE_MAX];
    char cure_text[REPORT_CURE_TEXT];
    const struct report_cure cure = report_cure_make(cure_text);
    struct tool_error error;

    if (s->app)
        return app_page_write(out, &error) ||
               cli_complain("view", "%s", error.text);
    if (s->path_count > 1)
        snprintf(title, sizeof(title), "%s and %s", runs[0].name, runs[1].name);
    else
        snprintf(title, sizeof(title), "%s", runs[0].name);
    return view_write(out, s->title != NULL ? s->title : title, runs,
                      s->path_count, &cure, &error) ||
           cli_complain("view", "%s", error.text);
}

/* The page appears complete or not at all; until then the old file stays. */
static bool write_file(const struct settings *s, const struct view_run *runs)
{
    struct output f;
    bool ok;

    if (!output_open(&f, "view", s->output))
        return false;
    ok = write_runs(s, runs, f.out);
    return output_close(&f, ok) && ok;
}

static bool read_runs(const struct settings *s, struct view_run *runs,
                      struct snapshot **snapshots)
{
    struct tool_error error;

    for (size_t i = 0; i < s->path_count; i++) {
        if (!snapshot_input_read(s->paths[i], &snapshots[i], &error))
            return cli_complain("view", "%s", error.text);
        runs[i].name = base_name(s->paths[i]);
        runs[i].snapshot = snapshots[i];
    }
    return true;
}

/* A temporary file for --open; browsers decide by the suffix. */
static bool choose_output(struct settings *s)
{
    const char *folder = environment_said("TMPDIR");
    int fd;

    if (s->output != NULL)
        return true;
    if (snprintf(s->temporary, PATH_MAX, "%s/larder-view.XXXXXX.html",
                 folder != NULL ? folder : "/tmp") >= PATH_MAX)
        return cli_complain("view", "TMPDIR: the name is too long");
    fd = mkstemps(s->temporary, (int)strlen(".html"));
    if (fd < 0)
        return cli_complain("view", "%s: %s", s->temporary, strerror(errno));
    close(fd);
    s->output = s->temporary;
    return true;
}

static bool show(const struct settings *s)
{
    if (s->output == s->temporary) {
        plain_text_put(stdout, s->output);
        putchar('\n');
    }
    if (!s->open)
        return true;
    if (open_browser(s->output))
        return true;
    return cli_complain("view",
                        "%s: no browser could be started; expected one in "
                        "BROWSER, or xdg-open",
                        s->output);
}

/* If the page cannot be written no temporary file is left. */
static bool make_page(struct settings *s, const struct view_run *runs)
{
    if (!choose_output(s))
        return false;
    if (write_file(s, runs))
        return show(s);
    if (s->output == s->temporary && !s->beside)
        unlink(s->output);
    return false;
}

static int run_view(const struct cli_args *a)
{
    struct settings *s = a->command->settings;
    struct view_run runs[RUNS_MAX] = {{0}};
    struct snapshot *snapshots[RUNS_MAX] = {NULL};
    bool ok = read_runs(s, runs, snapshots) && make_page(s, runs);

    for (size_t i = 0; i < s->path_count; i++)
        snapshot_free(snapshots[i]);
    return ok ? CLI_EXIT_OK : CLI_EXIT_BAD;
}

const struct cli_command cli_command_view = {
    .name = "view",
    .summary = "Show a snapshot in a browser: write a self-contained page.",
    .operands = "[SNAPSHOT|FOLDER...] [-o FILE.html]",
    .text =
        "SNAPSHOT is a file of torch.cuda.memory._dump_snapshot() or of "
        "Larder: pickle or\n"
        "JSON, plain or compressed with zstd; '-' is the standard input.  A "
        "trace works, too:\n"
        "it is replayed under PyTorch's policy and defaults.  The curves of "
        "two\n"
        "snapshots share one axis.  Of more, or of a FOLDER of them, the "
        "ranks of one job, the\n"
        "worst and the median are shown.\n"
        "The page is self-contained and needs no network.\n",
    .options = view_table,
    .settings = &(struct settings){0},
    .check = check,
    CLI_TAKE(input_list_take, struct settings, inputs),
    .run = run_view,
};
