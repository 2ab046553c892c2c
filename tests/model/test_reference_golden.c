/* test_reference_golden.c - the naive model does what PyTorch 2.4 did: every
 * placement and statistic of the golden files.  This qualifies the model to
 * judge the library.
 *
 *   test_reference_golden [DIR [KIND]]
 *
 * DIR (tests/data) holds golden/ and traces/; traces that are not there are
 * taken from data/traces.  KIND: only the files TRACE.KIND.golden.zst. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/reference.h"
#include "trace/trace.h"
#include "trace/trace_lines.h"
#include "support/read_file.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 256 };

/* The head of a golden file. */
struct golden_head {
    char trace[NAME_BYTES];
    char conf[NAME_BYTES];
    uint64_t capacity;
    double fraction;
    bool manual;
};

struct golden {
    char path[PATH_BYTES];
    struct trace_lines *lines;
    struct golden_head head;
    struct trace trace;
    larder_addr *addrs; /* of each ID; 0: failed or not live */
    struct reference *reference;
    uint64_t ops;
    bool starts_with_empty_cache;
    char line[TRACE_LINE_MAX + 1]; /* the next one; "" after the last */
    struct tool_error error;
};

/* ---- reading ------------------------------------------------------------ */

static bool next_line(struct golden *g)
{
    const char *line;
    size_t length;

    if (!trace_lines_next(g->lines, &line, &length, &g->error))
        return false;
    if (line == NULL)
        length = 0;
    if (length > 0)
        memcpy(g->line, line, length);
    g->line[length] = '\0';
    return true;
}

/* "# key: value", with the value possibly empty. */
static void head_value(const char *line, const char *key, char *out)
{
    size_t length = strlen(key);

    if (strncmp(line, "# ", 2) != 0 || strncmp(line + 2, key, length) != 0 ||
        line[2 + length] != ':')
        return;
    line += 3 + length;
    snprintf(out, NAME_BYTES, "%s", line + strspn(line, " "));
}

static bool read_head(struct golden *g)
{
    char capacity[NAME_BYTES] = "0";
    char fraction[NAME_BYTES] = "1";
    char events[NAME_BYTES] = "";

    if (!next_line(g))
        return false;
    while (g->line[0] == '#') {
        head_value(g->line, "trace", g->head.trace);
        head_value(g->line, "conf", g->head.conf);
        head_value(g->line, "capacity", capacity);
        head_value(g->line, "fraction", fraction);
        head_value(g->line, "events", events);
        if (!next_line(g))
            return false;
    }
    g->head.capacity = strtoull(capacity, NULL, 10);
    g->head.fraction = strtod(fraction, NULL);
    g->head.manual = strcmp(events, "manual") == 0;
    if (g->head.trace[0] == '\0' || g->head.capacity == 0)
        return tool_fail(&g->error, "the head is incomplete");
    return true;
}

/* The program that made the golden files read lines of at most 255 bytes and
 * took the rest of a longer comment for a line of its own.  In three traces
 * that rest looks like an operation, which was counted and run.  Do the
 * same. */
static bool phantom_op(struct golden *g, const char *path)
{
    struct trace_lines *lines = calloc(1, sizeof *lines);
    const char *line;
    size_t length;
    bool ok;

    if (lines == NULL || !trace_lines_open(path, lines, &g->error)) {
        free(lines);
        return false;
    }
    ok = trace_lines_next(lines, &line, &length, &g->error);
    if (ok && line != NULL && length > 255 && line[0] == '#' &&
        (line[255] == 'c' || line[255] == 'e')) {
        g->ops++;
        g->starts_with_empty_cache = line[255] == 'e';
    }
    trace_lines_close(lines);
    free(lines);
    return ok;
}

static bool read_trace(struct golden *g, const char *folder)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/traces/%s.zst", folder, g->head.trace);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/data/traces/%s.zst", LARDER_SOURCE_DIR,
                 g->head.trace);
    return phantom_op(g, path) && trace_read(path, &g->trace, &g->error);
}

/* ---- comparing ---------------------------------------------------------- */

static bool stat_split_find(const larder_stat_split *s, const char *part,
                            larder_stat *out)
{
    if (strcmp(part, "all") == 0)
        *out = s->all;
    else if (strcmp(part, "small_pool") == 0)
        *out = s->small_pool;
    else if (strcmp(part, "large_pool") == 0)
        *out = s->large_pool;
    else
        return false;
    return true;
}

/* Find a statistic by its name in golden files; a counter is returned as its
 * current value. */
static bool stat_find(const larder_stats *st, const char *name,
                      larder_stat *out)
{
    memset(out, 0, sizeof *out);
#define X(metric, text)                                                        \
    if (strncmp(name, #metric ".", sizeof #metric) == 0)                       \
        return stat_split_find(&st->metric, name + sizeof #metric, out);
    LARDER_METRIC_MAP(X)
#undef X
#define X(counter, text)                                                       \
    if (strcmp(name, #counter) == 0) {                                         \
        out->current = st->counter;                                            \
        return true;                                                           \
    }
    LARDER_COUNTER_MAP(X)
#undef X
    if (strcmp(name, "oversize_allocations") == 0)
        *out = st->oversize_allocations;
    else if (strcmp(name, "oversize_segments") == 0)
        *out = st->oversize_segments;
    else
        return false;
    return true;
}

/* With manual events the sums of inactive_split depend on the order in which
 * PyTorch's hash table visits the streams. */
static bool stat_same(const struct golden *g, const char *name,
                      const char *want, const larder_stat *got)
{
    int64_t w[4] = {0, 0, 0, 0};
    int n = sscanf(want, "%" SCNd64 "/%" SCNd64 "/%" SCNd64 "/%" SCNd64, &w[0],
                   &w[1], &w[2], &w[3]);

    if (w[0] != got->current || (n != 1 && n != 4))
        return false;
    if (n == 1 || (g->head.manual && strncmp(name, "inactive_split", 14) == 0))
        return true;
    return w[1] == got->peak && w[2] == got->allocated && w[3] == got->freed;
}

static bool compare_stats(struct golden *g, char *fields)
{
    larder_stats st;
    char *rest;

    reference_stats(g->reference, &st);
    for (char *f = strtok_r(fields, " ", &rest); f != NULL;
         f = strtok_r(NULL, " ", &rest)) {
        char *want = strchr(f, '=');
        larder_stat got;

        if (want == NULL)
            return tool_fail(&g->error, "'%s' is no statistic", f);
        *want++ = '\0';
        if (!stat_find(&st, f, &got))
            return tool_fail(&g->error, "unknown statistic '%s'", f);
        if (!stat_same(g, f, want, &got))
            return tool_fail(&g->error,
                             "after %" PRIu64 " operations %s: want %s, got "
                             "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64,
                             g->ops, f, want, got.current, got.peak,
                             got.allocated, got.freed);
    }
    return true;
}

/* Compare the statistics if the golden file has some for this point. */
static bool check_stats(struct golden *g)
{
    uint64_t at;
    int skip;

    while (sscanf(g->line, "s %" SCNu64 "%n", &at, &skip) == 1 &&
           at == g->ops) {
        if (!compare_stats(g, g->line + skip) || !next_line(g))
            return false;
    }
    return true;
}

static bool check_placement(struct golden *g, uint32_t id)
{
    char got[64];

    if (g->addrs[id] == 0)
        snprintf(got, sizeof got, "p %" PRIu32 " oom", id);
    else
        snprintf(got, sizeof got, "p %" PRIu32 " %" PRIu64, id,
                 g->addrs[id] - REFERENCE_ADDRESS_BASE);
    if (strcmp(got, g->line) != 0)
        return tool_fail(&g->error, "want '%s', got '%s'", g->line, got);
    return next_line(g);
}

/* ---- replaying ---------------------------------------------------------- */

static bool run_alloc(struct golden *g, const struct trace_op *op)
{
    larder_addr *addr = &g->addrs[op->id];

    if (reference_alloc(g->reference, op->bytes, op->stream, addr) != LARDER_OK)
        *addr = 0;
    return check_placement(g, op->id);
}

static bool run_op(struct golden *g, const struct trace_op *op)
{
    g->ops += op->kind != TRACE_MARK;
    switch ((enum trace_kind)op->kind) {
    case TRACE_ALLOC:
        return run_alloc(g, op) && check_stats(g);
    case TRACE_FREE:
        reference_free(g->reference, g->addrs[op->id]);
        break;
    case TRACE_RECORD:
        if (g->addrs[op->id] != 0)
            reference_record_stream(g->reference, g->addrs[op->id], op->stream);
        break;
    case TRACE_COMPLETE:
        reference_complete(g->reference, op->stream);
        break;
    case TRACE_EMPTY_CACHE:
        reference_empty_cache(g->reference);
        break;
    case TRACE_MARK:
        return true;
    }
    return check_stats(g);
}

static bool run(struct golden *g)
{
    if (g->head.fraction < 1)
        reference_set_fraction(g->reference, g->head.fraction);
    if (g->starts_with_empty_cache)
        reference_empty_cache(g->reference);
    for (size_t i = 0; i < g->trace.op_count; i++) {
        if (!run_op(g, &g->trace.ops[i]))
            return false;
    }
    if (g->line[0] != '\0')
        return tool_fail(&g->error, "not reached: '%.60s'", g->line);
    return true;
}

static bool check_open(struct golden *g, const char *folder)
{
    bool ok;

    if (!read_head(g) || !read_trace(g, folder))
        return false;
    g->addrs = calloc(g->trace.id_count + 1, sizeof *g->addrs);
    g->reference =
        reference_create(g->head.capacity, !g->head.manual, g->head.conf);
    ok = g->addrs != NULL && run(g);
    reference_destroy(g->reference);
    free(g->addrs);
    trace_free(&g->trace);
    return ok;
}

/* Prints what differs. */
static bool check_file(const char *folder, const char *name)
{
    struct golden *g = calloc(1, sizeof *g);
    struct trace_lines *lines = calloc(1, sizeof *lines);
    bool ok = false;

    if (g != NULL && lines != NULL) {
        snprintf(g->path, sizeof g->path, "%s/golden/%s", folder, name);
        g->lines = lines;
        if (trace_lines_open(g->path, lines, &g->error)) {
            ok = check_open(g, folder);
            trace_lines_close(lines);
        }
        if (!ok)
            printf("%s: %s\n", name, g->error.text);
    }
    free(lines);
    free(g);
    return ok;
}

static bool has_kind(const char *name, const char *kind)
{
    char ending[NAME_BYTES];
    size_t length;

    snprintf(ending, sizeof ending, "%s%s.golden.zst", kind == NULL ? "" : ".",
             kind == NULL ? "" : kind);
    length = strlen(ending);
    return strlen(name) > length &&
           strcmp(name + strlen(name) - length, ending) == 0;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : LARDER_SOURCE_DIR "/tests/data";
    const char *kind = argc > 2 ? argv[2] : NULL;
    char path[PATH_BYTES];
    struct dirent **entries;
    unsigned checked = 0;
    unsigned same = 0;
    int count;

    snprintf(path, sizeof path, "%s/golden", folder);
    count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        perror(path);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        if (has_kind(entries[i]->d_name, kind)) {
            checked++;
            same += check_file(folder, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    printf("the model agrees with %u of %u golden files\n", same, checked);
    return checked == 0 || same != checked;
}
