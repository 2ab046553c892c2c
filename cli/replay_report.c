/* replay_report.c - the result of `larder replay` as text. */
#include "replay_report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "recorded_report.h"
#include "table.h"
#include "snapshot/units.h"
#include "snapshot/plain_text.h"
#include "trace/ends_with.h"

enum { COLUMN_COUNT = 11 };

/* The path without the common endings, and the device of a snapshot. */
static void name_row(const struct replay_job *job,
                     const struct replay_result *r, char out[PATH_MAX])
{
    static const char *const endings[] = {".trace.zst", ".trace", ".pickle",
                                          ".json"};
    int length = (int)strlen(job->path);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends_with(job->path, endings[i])) {
            length -= (int)strlen(endings[i]);
            break;
        }
    }
    snprintf(out, PATH_MAX, "%.*s", length, job->path);
    plain_text(out);
    length = (int)strlen(out);
    if (r->snapshot != NULL)
        snprintf(out + length, PATH_MAX - (size_t)length, ":%zu",
                 r->snapshot->device);
}

/* A negative number means unknown. */
static const char *real_in(double x, const char *unit, char out[UNITS_MAX])
{
    if (x < 0)
        return "-";
    snprintf(out, UNITS_MAX, "%.1f%s", x, unit);
    return out;
}

static void add_result(struct table *t, const struct replay_job *job,
                       const struct replay_result *r)
{
    char name[PATH_MAX];
    const char *const cells[COLUMN_COUNT] = {
        name,
        units_count(r->ops),
        units_bytes(r->peak_requested_bytes),
        units_bytes(r->peak_allocated_bytes),
        units_bytes(r->peak_reserved_bytes),
        real_in(100 * r->peak_fragmentation, "%", (char[UNITS_MAX]){0}),
        units_count(r->driver_calls),
        units_time(r->driver_time_ns),
        real_in(r->ns_per_op, "", (char[UNITS_MAX]){0}),
        units_count(r->oom_count),
        r->min_capacity_bytes != 0 ? units_bytes(r->min_capacity_bytes)
                                   : "none",
    };

    name_row(job, r, name);
    table_add(t, cells);
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

/* ---- the request that failed when recorded -------------------------------- */

/* Print the device of the trial. */
static void print_device(const struct replay_refused *r)
{
    if (!r->on_card) {
        printf("  tried on a device of %s, as given\n",
               units_bytes(r->device_bytes));
        return;
    }
    printf("  tried on the recorded card, of which %s was available to this "
           "process: %s that it\n  held and %s that the driver had left\n",
           units_bytes(r->device_bytes), units_bytes(r->card.reserved),
           units_bytes(r->card.driver_free));
}

static void print_setting(const struct replay_setting *s)
{
    char conf[REPLAY_CONF_MAX];

    replay_setting_conf(s, NULL, conf);
    if (s->policy == LARDER_POLICY_LARDER)
        printf("Larder's own policy");
    else
        printf("%s", conf[0] != '\0' ? conf : "the defaults");
}

/* Whether both set the same keys, to whatever values: of such settings only the
 * first is printed. */
static bool same_key(const struct replay_setting *a,
                     const struct replay_setting *b)
{
    return a->policy == b->policy && a->expandable == b->expandable &&
           (a->max_split_mb != 0) == (b->max_split_mb != 0) &&
           (a->gc_percent != 0) == (b->gc_percent != 0) &&
           (a->roundup != 0) == (b->roundup != 0) &&
           (a->segment_mb != 0) == (b->segment_mb != 0);
}

static void print_cures(const struct replay_refused *r)
{
    if (r->cure_count == 0) {
        printf("; it fails under all of %zu other settings\n", r->tried);
        return;
    }
    printf("; it would succeed under: ");
    for (size_t i = 0; i < r->cure_count; i++) {
        if (i > 0 && same_key(&r->cures[i], &r->cures[i - 1]))
            continue;
        printf("%s", i > 0 ? "; " : "");
        print_setting(&r->cures[i]);
    }
    printf(" (`larder tune` says which is best)\n");
}

static void print_verdict(const struct replay_refused *r)
{
    if (r->fits && r->by_beginning)
        printf("it succeeds here, but also under the recorded settings: it "
               "failed because of how memory\nwas laid out before the "
               "recording began, which an empty device does not show\n");
    else if (r->fits && r->min_bytes < r->device_bytes)
        printf("it would now succeed, with %s to spare\n",
               units_bytes(r->device_bytes - r->min_bytes));
    else if (r->fits)
        printf("it would now succeed, with nothing to spare\n");
    else if (r->by_beginning)
        printf("it fails by %s, because of how memory was laid out before the "
               "recording began: on an\nempty device it succeeds under these "
               "settings, so other settings cannot be judged\n",
               units_bytes(r->short_bytes));
    else {
        printf("it fails again: %s more is needed",
               units_bytes(r->short_bytes));
        print_cures(r);
    }
}

/* Prints nothing if no request failed. */
static void print_refused(const char *path, const struct replay_snapshot *s)
{
    const struct replay_refused *r = &s->refused;

    if (!r->card.found)
        return;
    printf("\n");
    plain_text_put(stdout, path);
    printf(", device %zu: the recording ran out of memory on a request for %s "
           "(event %" PRIu32 ")\n",
           s->device, units_bytes(r->card.asked), r->card.event);
    print_device(r);
    print_verdict(r);
}

/* ---- the report ------------------------------------------------------------ */

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
            print_refused(job->path, r->snapshot);
    }
}

bool replay_report_print(const struct replay_job *jobs, size_t count,
                         const struct replay_options *options)
{
    static const char *const head[COLUMN_COUNT] = {
        "trace", "ops",    "requested", "allocated", "reserved", "frag",
        "calls", "driver", "ns/op",     "oom",       "capacity"};
    struct table t;
    bool ok;

    /* The last column is shown only on request. */
    table_init(&t, options->min_capacity ? COLUMN_COUNT : COLUMN_COUNT - 1,
               head);
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
