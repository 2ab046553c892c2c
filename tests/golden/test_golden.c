/* test_golden.c - replays traces under PyTorch's policy and compares every
 * placement and every statistic with those of PyTorch 2.4's own allocator.
 *
 *   test_golden [FOLDER [TRACES...]]
 *
 * FOLDER/golden/NAME.KIND.golden.zst hold the expected results.  The trace that
 * each names is searched for in FOLDER/traces and then in each of TRACES.
 * Without arguments: the files in the source tree.  Prints the first difference
 * of each file that has one; exits with 0 if none has. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay.h"
#include "trace/trace_lines.h"
#include "support/read_file.h"

enum { NAME_MAX_BYTES = 256, PATH_MAX_BYTES = 4096 };

static const char suffix[] = ".golden.zst";

struct golden {
    char trace[NAME_MAX_BYTES];
    char conf[PATH_MAX_BYTES];
    uint64_t capacity;
    double fraction;
    bool is_manual;
    uint64_t stats_every; /* interval of the statistics */
    char *placements;     /* lines, each with its newline */
    char *stats;
};

struct check {
    const char *folder;
    char **trace_folders;
    int trace_folder_count;
    struct tool_error why; /* the first difference */
};

/* ---- reading ----------------------------------------------------------- */

static const char *after(const char *line, const char *head)
{
    size_t length = strlen(head);

    return strncmp(line, head, length) == 0 ? line + length : NULL;
}

static void read_head(struct golden *g, const char *line)
{
    const char *value;

    if ((value = after(line, "# trace: ")) != NULL)
        snprintf(g->trace, sizeof g->trace, "%.255s", value);
    else if ((value = after(line, "# conf: ")) != NULL)
        snprintf(g->conf, sizeof g->conf, "%.4095s", value);
    else if ((value = after(line, "# capacity: ")) != NULL)
        g->capacity = strtoull(value, NULL, 10);
    else if ((value = after(line, "# fraction: ")) != NULL)
        g->fraction = strtod(value, NULL);
    else if ((value = after(line, "# events: ")) != NULL)
        g->is_manual = strcmp(value, "manual") == 0;
}

static bool read_lines(struct golden *g, struct trace_lines *lines,
                       FILE *placements, FILE *stats, struct tool_error *error)
{
    const char *at;
    size_t length;

    for (;;) {
        char line[TRACE_LINE_MAX + 1];

        if (!trace_lines_next(lines, &at, &length, error))
            return false;
        if (at == NULL)
            return true;
        memcpy(line, at, length);
        line[length] = '\0';
        if (line[0] == '#')
            read_head(g, line);
        else if (line[0] == 'p')
            fprintf(placements, "%s\n", line);
        else if (line[0] == 's')
            fprintf(stats, "%s\n", line);
        if (line[0] == 's' && g->stats_every == 0)
            g->stats_every = strtoull(line + 2, NULL, 10);
    }
}

static void golden_free(struct golden *g)
{
    free(g->placements);
    free(g->stats);
    memset(g, 0, sizeof *g);
}

static bool golden_read(const char *path, struct golden *g,
                        struct tool_error *error)
{
    struct trace_lines *lines = malloc(sizeof *lines);
    size_t ignored;
    FILE *placements = open_memstream(&g->placements, &ignored);
    FILE *stats = open_memstream(&g->stats, &ignored);
    bool ok = lines != NULL && placements != NULL && stats != NULL;

    if (!ok)
        tool_set_error(error, "%s: out of host memory", path);
    if (ok && (ok = trace_lines_open(path, lines, error))) {
        ok = read_lines(g, lines, placements, stats, error);
        trace_lines_close(lines);
    }
    if (placements != NULL)
        fclose(placements);
    if (stats != NULL)
        fclose(stats);
    free(lines);
    if (ok && (g->capacity == 0 || *g->stats == '\0'))
        ok = tool_fail(error, "%s: not a golden file", path);
    return ok;
}

static bool find_trace(const struct check *c, const char *name, char *out)
{
    snprintf(out, PATH_MAX_BYTES, "%s/traces/%s.zst", c->folder, name);
    for (int i = 0; i < c->trace_folder_count && access(out, R_OK) != 0; i++)
        snprintf(out, PATH_MAX_BYTES, "%s/%s.zst", c->trace_folders[i], name);
    return access(out, R_OK) == 0;
}

/* The recorder of the golden files read traces in pieces of this many bytes,
 * and took each piece for a line (docs/FIDELITY.md). */
enum { RECORDER_PIECE = 255 };

/* The operation for which it took the rest of a long first comment: its letter,
 * or 0 if none. */
static bool recorder_slip(const char *path, char *letter,
                          struct tool_error *error)
{
    struct trace_lines *lines = malloc(sizeof *lines);
    const char *at = NULL;
    size_t length = 0;
    bool ok;

    *letter = 0;
    if (lines == NULL)
        return tool_fail(error, "%s: out of host memory", path);
    ok = trace_lines_open(path, lines, error);
    if (ok) {
        ok = trace_lines_next(lines, &at, &length, error);
        if (ok && at != NULL && at[0] == '#' && length > RECORDER_PIECE &&
            (at[RECORDER_PIECE] == 'c' || at[RECORDER_PIECE] == 'e'))
            *letter = at[RECORDER_PIECE];
        trace_lines_close(lines);
    }
    free(lines);
    return ok;
}

/* Read the trace as the recorder did. */
static bool read_as_recorded(const char *path, struct trace *out,
                             struct tool_error *error)
{
    struct trace_op slip = {.kind = TRACE_COMPLETE};
    struct trace plain;
    char letter;
    bool ok;

    if (!recorder_slip(path, &letter, error) ||
        !trace_read(path, letter == 0 ? out : &plain, error))
        return false;
    if (letter == 0)
        return true;
    if (letter == 'e')
        slip.kind = TRACE_EMPTY_CACHE;
    trace_init(out);
    ok = trace_append(out, &slip);
    for (size_t i = 0; ok && i < plain.op_count; i++) {
        if (plain.ops[i].kind != TRACE_MARK)
            ok = trace_append(out, &plain.ops[i]);
    }
    trace_free(&plain);
    return ok || tool_fail(error, "%s: out of host memory", path);
}

/* ---- comparing --------------------------------------------------------- */

/* Split off the next piece, up to `end`; NULL if nothing is left. */
static char *next_piece(char **rest, char end)
{
    char *piece = *rest;
    char *stop;

    if (*piece == '\0')
        return NULL;
    stop = strchr(piece, end);
    *rest = stop != NULL ? stop + 1 : piece + strlen(piece);
    if (stop != NULL)
        *stop = '\0';
    return piece;
}

static bool same_placements(char *want, char *got, struct tool_error *why)
{
    char *w;

    for (size_t i = 0; (w = next_piece(&want, '\n')) != NULL; i++) {
        const char *g = next_piece(&got, '\n');

        if (g == NULL || strcmp(w, g) != 0)
            return tool_fail(why, "placement %zu: want \"%s\", got \"%s\"", i,
                             w, g != NULL ? g : "nothing");
    }
    if (*got != '\0')
        return tool_fail(why, "more placements than wanted: \"%s\"",
                         next_piece(&got, '\n'));
    return true;
}

/* With manual events the sums of inactive_split depend on the order in which
 * streams are polled; only its current value counts. */
static void drop_sums(char *field)
{
    if (strncmp(field, "inactive_split", 14) == 0)
        field[strcspn(field, "/")] = '\0';
}

/* Advance to the field of the same name; the allocator may count more than
 * PyTorch 2.4 did, but in the same order. */
static char *find_field(char **rest, const char *like)
{
    size_t name_length = strcspn(like, "=") + 1;
    char *field;

    do {
        field = next_piece(rest, ' ');
    } while (field != NULL && strncmp(field, like, name_length) != 0);
    return field;
}

static bool same_stats_line(const struct golden *g, char *want, char *got,
                            struct tool_error *why)
{
    const char *ops;
    const char *got_ops;
    char *w;

    want += 2; /* "s " */
    got += 2;
    ops = next_piece(&want, ' ');
    got_ops = next_piece(&got, ' ');
    if (ops == NULL || got_ops == NULL || strcmp(ops, got_ops) != 0)
        return tool_fail(why, "no statistics at %s",
                         ops != NULL ? ops : "nothing");
    while ((w = next_piece(&want, ' ')) != NULL) {
        char *field = find_field(&got, w);

        if (g->is_manual && field != NULL) {
            drop_sums(w);
            drop_sums(field);
        }
        if (field == NULL || strcmp(w, field) != 0)
            return tool_fail(why, "statistics at %s: want %s, got %s", ops, w,
                             field != NULL ? field : "nothing");
    }
    return true;
}

/* The files end with a line for the last operation even where the one before
 * it was for that operation too; such a second line is left out. */
static bool same_stats(const struct golden *g, char *want, char *got,
                       struct tool_error *why)
{
    uint64_t last_ops = 0;
    char *w;

    while ((w = next_piece(&want, '\n')) != NULL) {
        uint64_t ops = strtoull(w + 2, NULL, 10);
        char *line;

        if (ops == last_ops)
            continue;
        last_ops = ops;
        line = next_piece(&got, '\n');
        if (line == NULL)
            return tool_fail(why, "statistics end before \"%.20s\"", w);
        if (!same_stats_line(g, w, line, why))
            return false;
    }
    return *got == '\0' ||
           tool_fail(why, "more statistics than wanted: \"%.20s\"", got);
}

/* ---- replaying --------------------------------------------------------- */

static void make_conf(const struct golden *g, char *out, size_t room)
{
    if (g->fraction < 1)
        snprintf(out, room, "%s%sper_process_memory_fraction:%g", g->conf,
                 g->conf[0] != '\0' ? "," : "", g->fraction);
    else
        snprintf(out, room, "%s", g->conf);
}

static bool replay_and_compare(const struct golden *g, const struct trace *t,
                               struct tool_error *why)
{
    char conf[PATH_MAX_BYTES + 64];
    char device[64];
    char *placements = NULL;
    char *stats = NULL;
    size_t ignored;
    struct replay_result result;
    struct replay_options options = {.policy = LARDER_POLICY_PYTORCH,
                                     .conf = conf,
                                     .device = device,
                                     .stats_every = g->stats_every};
    bool ok;

    make_conf(g, conf, sizeof conf);
    snprintf(device, sizeof device, "sim:%" PRIu64 ",events=%s", g->capacity,
             g->is_manual ? "manual" : "immediate");
    options.placements = open_memstream(&placements, &ignored);
    options.stats = open_memstream(&stats, &ignored);
    if (options.placements == NULL || options.stats == NULL)
        return tool_fail(why, "out of host memory");
    ok = replay_run(t, &options, &result, why);
    fclose(options.placements);
    fclose(options.stats);
    if (ok) {
        replay_result_free(&result);
        ok = same_placements(g->placements, placements, why) &&
             same_stats(g, g->stats, stats, why);
    }
    free(placements);
    free(stats);
    return ok;
}

static bool check_golden(struct check *c, const char *path)
{
    char trace_path[PATH_MAX_BYTES];
    struct golden g = {.fraction = 1};
    struct trace t;
    bool ok = golden_read(path, &g, &c->why);

    if (ok && !find_trace(c, g.trace, trace_path))
        ok = tool_fail(&c->why, "its trace %s is nowhere", g.trace);
    if (ok && (ok = read_as_recorded(trace_path, &t, &c->why))) {
        ok = replay_and_compare(&g, &t, &c->why);
        trace_free(&t);
    }
    golden_free(&g);
    return ok;
}

static int is_golden(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length >= sizeof suffix &&
           strcmp(entry->d_name + length - (sizeof suffix - 1), suffix) == 0;
}

static int check_all(struct check *c)
{
    char path[PATH_MAX_BYTES];
    struct dirent **entries;
    int same = 0;
    int count;

    snprintf(path, sizeof path, "%s/golden", c->folder);
    count = scandir(path, &entries, is_golden, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/golden/%s", c->folder,
                 entries[i]->d_name);
        if (check_golden(c, path))
            same++;
        else
            printf("%s: %s\n", entries[i]->d_name, c->why.text);
        fflush(stdout);
        free(entries[i]);
    }
    free(entries);
    printf("%d of %d golden files identical\n", same, count);
    return same == count && count > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static char *bundled_traces[] = {LARDER_SOURCE_DIR "/data/traces"};
    struct check *c = calloc(1, sizeof *c);
    int status;

    if (c == NULL)
        return 2;
    c->folder = LARDER_SOURCE_DIR "/tests/data";
    c->trace_folders = bundled_traces;
    c->trace_folder_count = 1;
    if (argc > 1) {
        c->folder = argv[1];
        c->trace_folders = argv + 2;
        c->trace_folder_count = argc - 2;
    }
    status = check_all(c);
    free(c);
    return status;
}
