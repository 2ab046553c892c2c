/* cmd_convert.c - `larder convert`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "convert/viewer_files.h"
#include "input_list.h"
#include "new_file.h"
#include "recorded_report.h"
#include "replay/replay.h"
#include "snapshot/snapshot_write.h"
#include "snapshot_input.h"
#include "take_setting.h"
#include "trace/trace_source.h"
#include "trace/trace_zstd.h"

enum format {
    FORMAT_TRACE,
    FORMAT_PICKLE,
    FORMAT_PERFETTO,
    FORMAT_SPEEDSCOPE,
    FORMAT_JSON,
    FORMAT_FOLDED,
    FORMAT_COLLAPSED,
    FORMAT_NONE
};

/* The first that matches counts; each may be followed by .zst. */
static const char *const endings[] = {
    [FORMAT_TRACE] = ".trace",
    [FORMAT_PICKLE] = ".pickle",
    [FORMAT_PERFETTO] = ".perfetto.json",
    [FORMAT_SPEEDSCOPE] = ".speedscope.json",
    [FORMAT_JSON] = ".json",
    [FORMAT_FOLDED] = ".folded",
    [FORMAT_COLLAPSED] = ".collapsed",
};

static const char packed_ending[] = ".zst";

struct settings {
    const char *in;
    const char *out;
    enum format format;
    bool packed;        /* with zstd */
    const char *device; /* as given */
    struct replay_options options;
};

static const struct cli_option convert_table[] = {
    {"device", "N|SPEC",
     "for a snapshot, the device to convert (the first\n"
     "with events); for a trace, the device to replay\n"
     "it on (" REPLAY_DEVICE_DEFAULT ")",
     CLI_INTO(struct settings, device)},
    {"policy", "larder|pytorch|direct",
     "for a trace, how memory is chosen (pytorch)",
     CLI_TAKE(take_policy, struct settings, options.policy)},
    {"conf", "K:V,...", "for a trace, settings in PyTorch's grammar",
     CLI_INTO(struct settings, options.conf)},
    {.name = NULL},
};

static bool cmd_convert_fail(const char *path, const char *text)
{
    return cli_complain("convert", "%s: %s", path, text);
}

/* ---- options ------------------------------------------------------------ */

static bool ends_with(const char *path, size_t length, const char *ending)
{
    size_t n = strlen(ending);

    return length > n && memcmp(path + length - n, ending, n) == 0;
}

static enum format format_of(const char *path, bool *packed)
{
    size_t length = strlen(path);

    *packed = ends_with(path, length, packed_ending);
    if (*packed)
        length -= sizeof packed_ending - 1;
    for (int i = 0; i < FORMAT_NONE; i++) {
        if (ends_with(path, length, endings[i]))
            return (enum format)i;
    }
    return FORMAT_NONE;
}

/* Formats that are only written: views of a snapshot. */
static bool is_picture(enum format format)
{
    return format == FORMAT_PERFETTO || format == FORMAT_SPEEDSCOPE ||
           format == FORMAT_FOLDED || format == FORMAT_COLLAPSED;
}

static bool check(const struct cli_command *self, void *settings)
{
    struct settings *s = settings;
    enum format in;
    bool in_packed;

    if (s->out == NULL)
        return cli_wrong(self, "expected two names: IN OUT");
    s->format = format_of(s->out, &s->packed);
    if (s->format == FORMAT_NONE)
        return cli_wrong(self,
                         "'%s': expected a name ending in .trace, "
                         ".pickle or .json, .perfetto.json, "
                         ".speedscope.json, .folded or .collapsed, with "
                         "or without .zst",
                         s->out);
    if (same_file(s->in, s->out))
        return cli_wrong(self, "'%s' is the input and cannot be written",
                         s->out);
    in = format_of(s->in, &in_packed);
    if (is_picture(in))
        return cli_wrong(
            self,
            "'%s': %s is an output format only; expected a trace or a snapshot",
            s->in, endings[in]);
    return true;
}

static bool take_name(struct cli_args *a, void *settings)
{
    struct settings *s = settings;

    if (s->out != NULL)
        return cli_refuse(a, "unexpected '%s' after IN OUT", a->value);
    *(s->in == NULL ? &s->in : &s->out) = a->value;
    return true;
}

/* ---- writing ------------------------------------------------------------ */

/* What to write. */
struct output_of {
    const struct settings *settings;
    const struct trace *trace; /* or a snapshot: */
    const struct snapshot *snapshot;
    size_t device;                        /* VIEWER_ALL: all */
    const struct snap_trace_notes *notes; /* of the trace; or NULL */
    struct tool_error *error;
};

static bool write_trace(const struct output_of *o, FILE *out)
{
    if (o->notes != NULL) {
        fputs("# ", out);
        recorded_report_notes(out, o->settings->in, o->device, o->notes);
    }
    return trace_write(o->trace, out) ||
           tool_fail(o->error, "%s", strerror(errno));
}

static bool write_format(const struct output_of *o, FILE *out)
{
    switch (o->settings->format) {
    case FORMAT_TRACE:
        return write_trace(o, out);
    case FORMAT_PICKLE:
        return snapshot_write_pickle(o->snapshot, out, o->error);
    case FORMAT_JSON:
        return snapshot_write_json(o->snapshot, out, o->error);
    case FORMAT_PERFETTO:
        return perfetto_write(o->snapshot, o->device, out, o->error);
    case FORMAT_SPEEDSCOPE:
        return flames_write_speedscope(o->snapshot, o->device, out, o->error);
    case FORMAT_FOLDED:
    case FORMAT_COLLAPSED:
        return flames_write_collapsed(o->snapshot, o->device, out, o->error);
    case FORMAT_NONE:
        break;
    }
    return false;
}

static bool write_compressed(const struct output_of *o, FILE *out)
{
    FILE *zstd = trace_zstd_open(out);
    bool ok;

    if (zstd == NULL)
        return tool_fail(o->error, "out of host memory");
    ok = write_format(o, zstd);
    if (fclose(zstd) != 0 && ok)
        return tool_fail(o->error, "%s", strerror(errno));
    return ok;
}

static bool write_file(struct output_of *o)
{
    const char *path = o->settings->out;
    struct tool_error error;
    struct output f;
    bool ok;

    if (!output_open(&f, "convert", path))
        return false;
    o->error = &error;
    ok = o->settings->packed ? write_compressed(o, f.out)
                             : write_format(o, f.out);
    o->error = NULL;
    return output_close(&f, ok) && (ok || cmd_convert_fail(path, error.text));
}

/* ---- from a trace ------------------------------------------------------- */

static bool run_trace(const struct settings *s, const struct trace *t,
                      const char *path)
{
    struct tool_error error;

    if (snapshot_input_write(t, &s->options, path, &error))
        return true;
    return cmd_convert_fail(s->in, error.text);
}

static bool trace_to_snapshot(const struct settings *s, const struct trace *t)
{
    struct snapshot *snapshot = NULL;
    struct tool_error error;
    struct output_of o = {.settings = s, .device = VIEWER_ALL};
    bool ok;

    if (!snapshot_input_replay(t, s->in, &s->options, &snapshot, &error))
        return cli_complain("convert", "%s", error.text);
    o.snapshot = snapshot;
    ok = write_file(&o);
    snapshot_free(snapshot);
    return ok;
}

static bool convert_trace(const struct settings *s, const struct trace *t)
{
    struct output_of o = {.settings = s, .trace = t};

    if (s->format == FORMAT_TRACE)
        return write_file(&o);
    /* The allocator writes these itself, with everything it knows. */
    if ((s->format == FORMAT_PICKLE || s->format == FORMAT_JSON) && !s->packed)
        return run_trace(s, t, s->out);
    return trace_to_snapshot(s, t);
}

/* An empty file is what a failed command leaves in a pipe. */
static bool has_bytes(struct trace_source *source, const char *path,
                      struct tool_error *error)
{
    const unsigned char *bytes;
    size_t count;

    if (!trace_source_peek(source, &bytes, &count, error))
        return false;
    return count > 0 ||
           tool_fail(error, "%s: empty; expected a memory snapshot or a trace",
                     path);
}

static bool from_trace(struct settings *s, struct trace_source *source)
{
    struct tool_error error;
    struct trace t;
    bool ok;

    s->options.device = s->device;
    if (!has_bytes(source, s->in, &error) ||
        !replay_check(&s->options, &error)) {
        trace_source_close(source);
        return cli_complain("convert", "%s", error.text);
    }
    if (!trace_read_source(source, s->in, &t, &error))
        return cli_complain("convert", "%s", error.text);
    ok = convert_trace(s, &t);
    trace_free(&t);
    return ok;
}

/* ---- from a snapshot ---------------------------------------------------- */

/* Report what the trace lacks, and what was left out. */
static void print_notes(const struct settings *s, const struct snapshot *snap,
                        size_t device, const struct snap_trace_notes *n)
{
    size_t others = 0;

    for (size_t i = 0; s->device == NULL && i < snap->device_count; i++)
        others += i != device && snap->devices[i].count > 0;
    if (others > 0)
        cli_complain(
            "convert",
            "%s: converted device %zu; %zu other%s events too (--device)",
            s->in, device, others, others == 1 ? " has" : "s have");
    if (n->unmatched_frees + n->overwritten + n->zero_sizes + n->pools == 0)
        return;
    fputs("larder convert: ", stderr);
    recorded_report_notes(stderr, s->in, device, n);
}

static bool to_trace(const struct settings *s, const struct snapshot *snap,
                     size_t device)
{
    struct snap_trace_notes notes;
    struct tool_error error;
    struct story story;
    struct trace t;
    struct output_of o = {
        .settings = s, .trace = &t, .device = device, .notes = &notes};
    bool ok;

    if (!story_make(snap, device, &story, &error))
        return cmd_convert_fail(s->in, error.text);
    ok = snap_trace_make(&story, &t, &notes, &error);
    story_free(&story);
    if (!ok)
        return cmd_convert_fail(s->in, error.text);
    ok = write_file(&o);
    if (ok)
        print_notes(s, snap, device, &notes);
    trace_free(&t);
    return ok;
}

/* The first device with events; otherwise the first with segments. */
static size_t first_device(const struct snapshot *snap)
{
    for (size_t i = 0; i < snap->device_count; i++) {
        if (snap->devices[i].count > 0)
            return i;
    }
    return snap->segment_count > 0 ? snap->segments[0].device : 0;
}

static bool choose_device(const struct settings *s, const struct snapshot *snap,
                          size_t *out)
{
    size_t count = lifetimes_device_count(snap);
    char *end;
    unsigned long long n;

    *out = first_device(snap);
    if (s->device == NULL)
        return true;
    errno = 0;
    n = strtoull(s->device, &end, 10);
    if (errno == 0 && *end == '\0' && s->device[0] >= '0' &&
        s->device[0] <= '9' && n < count) {
        *out = (size_t)n;
        return true;
    }
    return cli_complain("convert",
                        "%s: no device '%s'; expected a number below "
                        "%zu",
                        s->in, s->device, count);
}

static bool convert_snapshot(const struct settings *s,
                             const struct snapshot *snap)
{
    struct output_of o = {
        .settings = s, .snapshot = snap, .device = VIEWER_ALL};
    size_t device;

    if (!choose_device(s, snap, &device))
        return false;
    if (s->format == FORMAT_TRACE)
        return to_trace(s, snap, device);
    if (s->device != NULL && !is_picture(s->format))
        return cmd_convert_fail(s->out, "--device cannot be used when writing "
                                        "a snapshot, which holds all devices");
    if (s->device != NULL)
        o.device = device;
    return write_file(&o);
}

static bool from_snapshot(const struct settings *s, struct trace_source *source)
{
    struct tool_error error;
    struct snapshot *snap;
    bool ok;

    if (s->options.conf != NULL || s->options.policy != LARDER_POLICY_DEFAULT) {
        trace_source_close(source);
        return cmd_convert_fail(
            s->in, "--policy and --conf are for traces: a snapshot "
                   "is not replayed");
    }
    if (!snapshot_read_source(source, s->in, NULL, &snap, &error))
        return cli_complain("convert", "%s", error.text);
    ok = convert_snapshot(s, snap);
    snapshot_free(snap);
    return ok;
}

static int run_convert(const struct cli_args *a)
{
    struct settings *s = a->command->settings;
    struct tool_error error;
    struct replay_input in;
    bool ok;

    if (!replay_input_open(s->in, &in, &error))
        ok = cli_complain("convert", "%s", error.text);
    else
        ok = in.is_snapshot ? from_snapshot(s, in.source)
                            : from_trace(s, in.source);
    return ok ? CLI_EXIT_OK : CLI_EXIT_BAD;
}

const struct cli_command cli_command_convert = {
    .name = "convert",
    .summary = "Convert between traces, snapshots and timelines.",
    .operands = "IN OUT",
    .text =
        "IN is a trace or a snapshot, '-' the standard input.  The suffix of "
        "OUT selects the\n"
        "format; an additional .zst compresses it:\n"
        "  .trace               a trace, for larder replay\n"
        "  .pickle, .json       a snapshot, the pickle for PyTorch's viewers\n"
        "  .perfetto.json       a timeline, for ui.perfetto.dev\n"
        "  .speedscope.json     the owners of memory, for speedscope.app\n"
        "  .folded, .collapsed  the same as collapsed stacks, for flame "
        "graphs\n"
        "A trace is converted to a snapshot by a replay.\n",
    .options = convert_table,
    .settings = &(struct settings){0},
    .take = take_name,
    .check = check,
    .run = run_convert,
};
