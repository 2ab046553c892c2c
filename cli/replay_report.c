/* replay_report.c - the result of `larder replay` as text. */
#include "replay_report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "recorded_report.h"
#include "refused_report.h"
#include "table.h"
#include "units.h"
#include "snapshot/plain_text.h"

enum { CELL_MAX = 64, COLUMN_COUNT = 11 };

/* A row of the table being built. */
struct row {
    const char *cells[COLUMN_COUNT];
    char texts[COLUMN_COUNT][CELL_MAX];
    char name[PATH_MAX];
    size_t count;
};

static void row_text(struct row *row, const char *text)
{
    row->cells[row->count++] = text;
}

/* A trace's path without the common suffixes. */
static void row_name(struct row *row, const char *path)
{
    static const char *const endings[] = {".trace.zst", ".trace", ".pickle",
                                          ".json"};
    size_t length = strlen(path);
    char *text = row->name;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);

        if (length > n && strcmp(path + length - n, endings[i]) == 0) {
            length -= n;
            break;
        }
    }
    snprintf(text, sizeof row->name, "%.*s", (int)length, path);
    plain_text(text);
    row_text(row, text);
}

static void row_count(struct row *row, uint64_t n)
{
    char *text = row->texts[row->count];

    snprintf(text, CELL_MAX, "%" PRIu64, n);
    row_text(row, text);
}

static void row_bytes(struct row *row, uint64_t bytes)
{
    row_text(row, units_bytes(bytes, row->texts[row->count]));
}

/* A negative number means unknown. */
static void row_real(struct row *row, double x, const char *unit)
{
    char *text = row->texts[row->count];

    if (x >= 0)
        snprintf(text, CELL_MAX, "%.1f%s", x, unit);
    row_text(row, x >= 0 ? text : "-");
}

static void add_head(struct table *t)
{
    static const char *const head[COLUMN_COUNT] = {
        "trace", "ops",    "requested", "allocated", "reserved", "frag",
        "calls", "driver", "ns/op",     "oom",       "capacity"};

    table_add(t, head);
}

/* Append the device's number to a snapshot's name. */
static void row_device(struct row *row, const struct replay_result *r)
{
    size_t length = strlen(row->name);

    if (r->snapshot != NULL)
        snprintf(row->name + length, sizeof row->name - length, ":%zu",
                 r->snapshot->device);
}

static void add_result(struct table *t, const struct replay_job *job,
                       const struct replay_result *r)
{
    struct row row = {.count = 0};

    row_name(&row, job->path);
    row_device(&row, r);
    row_count(&row, r->ops);
    row_bytes(&row, r->peak_requested_bytes);
    row_bytes(&row, r->peak_allocated_bytes);
    row_bytes(&row, r->peak_reserved_bytes);
    row_real(&row, 100 * r->peak_fragmentation, "%");
    row_count(&row, r->driver_calls);
    row_text(&row, units_time(r->driver_time_ns, row.texts[row.count]));
    row_real(&row, r->ns_per_op, "");
    row_count(&row, r->oom_count);
    if (r->min_capacity_bytes != 0)
        row_bytes(&row, r->min_capacity_bytes);
    else
        row_text(&row, "none");
    table_add(t, row.cells);
}

static void add_job(struct table *t, const struct replay_job *job)
{
    for (const struct replay_result *r = &job->result; r != NULL; r = r->next)
        add_result(t, job, r);
}

static void print_notes(const struct replay_options *options)
{
    puts("\nrequested, allocated (after rounding), reserved: peaks; "
         "frag: where\n"
         "allocated peaked, the part of reserved that was not; calls, driver: "
         "of the driver\n"
         "in the first pass, and their estimated time;");
    if (options->repeat == 0)
        printf("ns/op: not timed");
    else
        printf("ns/op: warm, median of %u", options->repeat);
    printf("; oom: allocations that failed%s\n",
           options->min_capacity
               ? ";\ncapacity: the smallest device without any"
               : "");
}

static void print_oom(const struct replay_job *job,
                      const struct replay_result *r)
{
    putchar('\n');
    plain_text_put(stdout, job->path);
    printf(": out of memory at operation %" PRIu64, r->oom_op);
    if (r->oom_count == 2)
        printf(", and once after it");
    else if (r->oom_count > 2)
        printf(", and %" PRIu64 " times after it", r->oom_count - 1);
    printf(":\n%s\n", r->oom_text);
}

/* Print what is not in the table. */
static void print_rest(const struct replay_job *job)
{
    for (const struct replay_result *r = &job->result; r != NULL; r = r->next) {
        if (r->oom_count > 0)
            print_oom(job, r);
        if (r->snapshot != NULL)
            recorded_report_print(job->path, r->snapshot);
        if (r->summary != NULL) {
            putchar('\n');
            plain_text_put(stdout, job->path);
            printf("\n%s\n", r->summary);
        }
    }
    for (const struct replay_result *r = &job->result; r != NULL; r = r->next) {
        if (r->snapshot != NULL)
            refused_report_print(job->path, r->snapshot);
    }
}

bool replay_report_print(const struct replay_job *jobs, size_t count,
                         const struct replay_options *options)
{
    struct table t;
    bool ok;

    /* The last column is shown only on request. */
    table_init(&t, options->min_capacity ? COLUMN_COUNT : COLUMN_COUNT - 1);
    add_head(&t);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].ok)
            add_job(&t, &jobs[i]);
    }
    ok = t.rows <= 1 || table_print(&t);
    if (t.rows > 1)
        print_notes(options);
    table_free(&t);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].ok)
            print_rest(&jobs[i]);
    }
    return ok;
}
