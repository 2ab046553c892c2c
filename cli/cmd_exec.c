/* cmd_exec.c - `larder exec`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <larder/device.h>
#include <larder/larder.h>
#include <larder/ledger.h>

#include "commands.h"
#include "environment.h"
#include "exec.h"
#include "new_file.h"
#include "take_setting.h"

#define SIM_DEFAULT "24GiB"

struct exec_size {
    const char *text; /* NULL: not given */
    uint64_t bytes;
};

struct exec_settings {
    const char *sim;
    char spec[4096];     /* of the simulated GPUs */
    const char *preload; /* NULL: not requested */
    struct exec_size limit;
    struct exec_size minimum;
    const char *report;
    bool is_json;
    bool is_quiet;
    char **program; /* its words, ended by NULL */
};

static bool take_size(struct cli_args *a, void *out)
{
    struct exec_size *size = out;

    if (!take_device(a, &size->text))
        return false;
    return (larder_parse_size(a->value, &size->bytes) == LARDER_OK &&
            size->bytes > 0) ||
           cli_refuse(a, "--%s '%s' is not a size: expected one such as 8GiB",
                      a->option->name, a->value);
}

static const struct cli_option exec_table[] = {
    {"sim", "SIZE|CARD[,...]",
     "the simulated GPUs, as in sim:SIZE,...\n(" SIM_DEFAULT
     "), or a card such as h100; none: this\nmachine's own",
     CLI_TAKE(take_device, struct exec_settings, sim)},
    {"preload", "WORDS",
     "run Larder under the program: cache (with\n"
     "migrate, unless LARDER_CONF has migrate:off),\n"
     "limit, or either with ,pause\n"
     "(larder-preload(7))",
     CLI_INTO(struct exec_settings, preload)},
    {"limit", "SIZE",
     "limit what each process that uses Larder holds\n"
     "of each device",
     CLI_TAKE(take_size, struct exec_settings, limit)},
    {"minimum", "SIZE", "the memory kept for each such process",
     CLI_TAKE(take_size, struct exec_settings, minimum)},
    {"report", "FILE",
     "write the report to this file ('-': the standard\n"
     "output) instead of the standard error",
     CLI_INTO(struct exec_settings, report)},
    {"json", NULL, "report as JSON, one line for each GPU used",
     CLI_INTO(struct exec_settings, is_json)},
    {"quiet", NULL, "no report", CLI_INTO(struct exec_settings, is_quiet)},
    {.name = NULL},
};

static bool is_preload_word(const char *at, size_t length)
{
    static const char *const known[] = {"cache", "limit", "gate",
                                        "off",   "pause", "migrate"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) == length && memcmp(at, known[i], length) == 0)
            return true;
    }
    return false;
}

/* In any order, as the library accepts them; it would report an invalid value
 * only in the middle of the program. */
static bool check_preload(const struct cli_command *self, const char *words)
{
    const char *at = words;

    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ",");

        if (!is_preload_word(at, length))
            return cli_wrong(self,
                             "--preload '%s' is not known: expected cache, "
                             "limit, either with ,pause, or cache,migrate",
                             words);
        at += length + (at[length] == ',');
    }
    return true;
}

/* This machine's driver, which writes no report. */
static bool is_real(const struct exec_settings *s)
{
    return strcmp(s->sim, "none") == 0;
}

/* Without this check the program would fail, with a message that mentions neither
 * option. */
static bool check_limit(const struct cli_command *self,
                        const struct exec_settings *s)
{
    if (s->limit.text == NULL || s->minimum.bytes <= s->limit.bytes)
        return true;
    return cli_wrong(self,
                     "--minimum '%s' is more than the process may hold "
                     "(--limit '%s')",
                     s->minimum.text, s->limit.text);
}

static bool check_card(const struct cli_command *self,
                       const struct exec_settings *s, larder_device *dev)
{
    larder_device_props props = {.size = sizeof props};

    if (s->minimum.text == NULL)
        return true;
    if (larder_device_get_props(dev, &props) != LARDER_OK)
        return cli_wrong(self, "sim '%s': %s", s->sim, larder_last_error());
    if (s->minimum.bytes <= props.total_bytes &&
        props.context_bytes <= props.total_bytes - s->minimum.bytes)
        return true;
    return cli_wrong(self,
                     "--minimum '%s' is more than there is on the GPU "
                     "(--sim '%s')",
                     s->minimum.text, s->sim);
}

/* Without this check the program would only report that there is no GPU. */
static bool check_sim(const struct cli_command *self, struct exec_settings *s)
{
    const char *sim = s->sim;
    larder_device *dev = NULL;
    int length = snprintf(s->spec, sizeof s->spec, "sim:%s", sim);
    bool ok;

    if (length < 0 || (size_t)length >= sizeof s->spec)
        return cli_wrong(self, "sim '%.40s...' is too long", sim);
    if (larder_device_open(s->spec, 0, &dev) != LARDER_OK)
        return cli_wrong(self, "sim '%s': %s", sim, larder_last_error());
    ok = check_card(self, s, dev);
    larder_device_close(dev);
    return ok;
}

static bool no_memory(void)
{
    return cli_complain("exec", "out of host memory");
}

static bool set_driver(const char *spec, const char *report)
{
    char folder[PATH_MAX];
    char runtime[PATH_MAX];
    bool is_wrong;
    bool has_runtime = exec_find_runtime(runtime, &is_wrong);

    if (is_wrong || !exec_find_folder(folder))
        return false;
    if (has_runtime && !exec_set_runtime(runtime))
        return no_memory();
    if (environment_prepend("LD_LIBRARY_PATH", folder) &&
        setenv("LARDER_FAKECUDA", spec, 1) == 0 &&
        setenv("LARDER_FAKECUDA_REPORT", report, 1) == 0)
        return true;
    return no_memory();
}

/* Whether the settings in the environment let live memory move: the last one
 * applies, and blanks have no meaning. */
static bool may_migrate(void)
{
    const char *at = secure_getenv("LARDER_CONF");
    bool may = true;

    while (at != NULL && *at != '\0') {
        char key[16] = "";
        char value[16] = "";

        if (sscanf(at, " %15[^:, ] : %15[^:, ]", key, value) == 2 &&
            strcmp(key, "migrate") == 0)
            may = strcmp(value, "off") != 0;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return may;
}

/* A cache alone moves live memory, too, before a request fails. */
static bool set_preload(const char *words)
{
    char library[PATH_MAX];

    if (strcmp(words, "cache") == 0 && may_migrate())
        words = "cache,migrate";
    if (!exec_find_preload(library))
        return false;
    if (exec_set_preload(library) && setenv("LARDER_PRELOAD", words, 1) == 0)
        return true;
    return no_memory();
}

/* Add to the settings in the environment. */
static bool add_setting(const char *key, const char *value)
{
    const char *before = environment_said("LARDER_CONF");
    char *text;
    int failed;

    if (asprintf(&text, "%s%s%s:%s", before != NULL ? before : "",
                 before != NULL ? "," : "", key, value) < 0)
        return no_memory();
    failed = setenv("LARDER_CONF", text, 1);
    free(text);
    return !failed || no_memory();
}

/* Only for the child: this process has loaded its libraries.  Memory that Larder
 * passes on to the driver under a program is not in a ledger: there the limit is
 * one of its own, too. */
static bool set_environment(const struct exec_settings *s, const char *report)
{
    bool has_limit = s->limit.text != NULL;

    return (is_real(s) || set_driver(s->spec, report)) &&
           (s->preload == NULL || set_preload(s->preload)) &&
           (!has_limit || add_setting("process_limit", s->limit.text)) &&
           (!has_limit || s->preload == NULL ||
            add_setting("limit", s->limit.text)) &&
           (s->minimum.text == NULL || add_setting("minimum", s->minimum.text));
}

static bool write_report(const struct exec_settings *s, const char *path)
{
    struct output o;
    bool ok;

    if (!output_open(&o, "exec", s->report))
        return false;
    ok = exec_report(path, s->is_json, o.out != NULL ? o.out : stderr) ||
         cli_complain("exec", "the report cannot be read: %s", strerror(errno));
    return output_close(&o, ok) && ok;
}

/* Create the file that the driver appends its lines to; its path is stored in
 * `report`. */
static int make_report(char report[PATH_MAX])
{
    const char *folder = environment_said("TMPDIR");
    int length = snprintf(report, PATH_MAX, "%s/larder-exec-XXXXXX",
                          folder != NULL ? folder : "/tmp");

    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkostemp(report, O_CLOEXEC);
}

static void pass_over(void *ctx, const larder_ledger_device *device,
                      const larder_ledger_process *processes, size_t count)
{
    (void)ctx;
    (void)device;
    (void)processes;
    (void)count;
}

/* A program ends without closing its devices: ledgers in which it was the last
 * process stay until they are next inspected. */
static void sweep_ledgers(void)
{
    (void)larder_ledger_each(pass_over, NULL);
}

static bool check(const struct cli_command *self, void *settings)
{
    struct exec_settings *s = settings;

    if (s->program == NULL)
        return cli_wrong(self, "no program; expected PROGRAM [ARG...]");
    return check_preload(self, s->preload) && check_limit(self, s) &&
           (is_real(s) || check_sim(self, s));
}

static int run_exec(const struct cli_args *a)
{
    const struct exec_settings *s = a->command->settings;
    char report[PATH_MAX];
    int status = CLI_EXIT_BAD;
    int fd = make_report(report);

    if (fd < 0)
        return cli_fail("exec", "%s: cannot be created: %s", report,
                        strerror(errno));
    close(fd);
    if (set_environment(s, report)) {
        bool began;

        status = exec_child_run(s->program, &began);
        if (began && !s->is_quiet && !is_real(s) && !write_report(s, report) &&
            status == 0)
            status = CLI_EXIT_BAD;
        sweep_ledgers();
    }
    unlink(report);
    return status;
}

const struct cli_command cli_command_exec = {
    .name = "exec",
    .summary = "Run a CUDA program on simulated GPUs.",
    .operands = "PROGRAM [ARG...]",
    .text = "The program's driver and CUDA runtime are replaced by simulated "
            "ones: memory, streams\n"
            "and events work; kernels are counted but do not run.  Calls that "
            "violate a rule of the\n"
            "driver fail and are counted.  The exit status is the program's.\n",
    .options = exec_table,
    .settings = &(struct exec_settings){.sim = SIM_DEFAULT},
    CLI_TAKE(cli_take_program, struct exec_settings, program),
    .check = check,
    .run = run_exec,
};
