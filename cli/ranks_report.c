/* ranks_report.c - the ranks of one job as text. */
#include "ranks_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/plain_text.h"
#include "snapshot_input.h"
#include "table.h"
#include "snapshot/units.h"

enum { COLUMNS = 5, NAME_MAX_BYTES = 4096, OUTLIERS_SHOWN = 5, INDENT = 15 };

bool ranks_report_read(struct report_ranks *ranks, const char *path,
                       struct tool_error *error)
{
    struct snapshot *s = NULL;
    bool are_ranks;
    bool ok;

    if (!report_ranks_read(ranks, path, &are_ranks, error))
        return false;
    if (are_ranks)
        return true;
    ok = snapshot_input_read(path, &s, error) &&
         report_ranks_add(ranks, path, s, error);
    snapshot_free(s);
    return ok;
}

/* The file, and the device if the file has several. */
static const char *name_of(const struct report_ranks *ranks, size_t i,
                           char out[NAME_MAX_BYTES])
{
    const struct report_rank *rank = &ranks->items[i];
    bool shared =
        (i > 0 && strcmp(ranks->items[i - 1].file, rank->file) == 0) ||
        (i + 1 < ranks->count &&
         strcmp(ranks->items[i + 1].file, rank->file) == 0);

    if (shared)
        snprintf(out, NAME_MAX_BYTES, "%s, device %zu", rank->file,
                 rank->device);
    else
        snprintf(out, NAME_MAX_BYTES, "%s", rank->file);
    return out;
}

static void print_name(const struct report_ranks *ranks, size_t i)
{
    char name[NAME_MAX_BYTES];

    plain_text_put(stdout, name_of(ranks, i, name));
}

static bool print_verdict(const struct report_ranks *ranks,
                          const struct report_options *opt,
                          struct tool_error *error)
{
    size_t worst = report_ranks_worst(ranks);
    const struct report_rank *rank = &ranks->items[worst];
    struct snapshot *s = NULL;
    bool ok;

    printf("%-*s", INDENT, "Worst");
    print_name(ranks, worst);
    putchar('\n');
    if (access(rank->file, R_OK) != 0) {
        puts("Its snapshot is not here: no verdict.");
        return true;
    }
    if (!snapshot_input_read(rank->file, &s, error))
        return false;
    ok = report_write_verdict(stdout, s, rank->device, opt, error);
    snapshot_free(s);
    return ok;
}

static void print_range(const char *label, struct report_spread s)
{
    printf("%-*s%s to %s, median %s\n", INDENT, label, units_bytes(s.min),
           units_bytes(s.max), units_bytes(s.median));
}

static void print_outlier(const struct report_ranks *ranks,
                          const struct report_outlier *o, bool first)
{
    printf("%-*s", INDENT, first ? "Outliers" : "");
    print_name(ranks, o->rank);
    printf(": %s %s than the median", units_bytes(o->by),
           o->over ? "more" : "less");
    if (o->frame != NULL)
        printf("; %s %s from %s", units_bytes(o->frame_by),
               o->over ? "more" : "less", o->frame);
    putchar('\n');
}

static void print_outliers(const struct report_ranks *ranks)
{
    struct report_middle middle = report_ranks_middle(ranks);
    struct report_outlier o;
    size_t found = 0;

    for (size_t i = 0; i < ranks->count; i++) {
        if (report_ranks_outlier(ranks, &middle, i, &o) &&
            found++ < OUTLIERS_SHOWN)
            print_outlier(ranks, &o, found == 1);
    }
    if (found == 0)
        printf("%-*snone\n", INDENT, "Outliers");
    else if (found > OUTLIERS_SHOWN)
        printf("%-*sand %zu more (--json has all)\n", INDENT, "",
               found - OUTLIERS_SHOWN);
}

static void print_cause(const struct report_ranks *ranks)
{
    struct report_common cause = report_ranks_cause(ranks);
    const struct report_rank *rank = &ranks->items[cause.rank];
    size_t failures = report_ranks_failed(ranks);

    printf("%zu of %zu ran out of memory", failures, ranks->count);
    if (cause.count == 1 && failures > 1) {
        puts(", each for a different reason");
        return;
    }
    if (cause.count < failures)
        printf(", %zu of them for the same reason", cause.count);
    printf(": %s", rank->cause);
    if (rank->requester[0] != '\0')
        printf(", requested %s", rank->requester);
    putchar('\n');
}

static void print_common(const struct report_ranks *ranks)
{
    struct report_common holder = report_ranks_holder(ranks);
    bool failed = report_ranks_failed(ranks) > 0;

    printf("%-*s", INDENT, "In common");
    if (failed)
        print_cause(ranks);
    if (holder.count > 1)
        printf("%*s%zu of %zu hold most from %s\n", failed ? INDENT : 0, "",
               holder.count, ranks->count,
               ranks->items[holder.rank].holders[0].frame);
    else if (!failed)
        puts("nothing: each holds most from a different line");
}

/* ---- the table ---------------------------------------------------------- */

/* Of pointers into the ranks. */
static int worst_first(const void *a, const void *b)
{
    const struct report_rank *x = *(const struct report_rank *const *)a;
    const struct report_rank *y = *(const struct report_rank *const *)b;

    if ((x->asked > 0) != (y->asked > 0))
        return x->asked > 0 ? -1 : 1;
    if (x->peak_allocated != y->peak_allocated)
        return x->peak_allocated > y->peak_allocated ? -1 : 1;
    return (x > y) - (x < y);
}

static void add_row(struct table *table, const struct report_ranks *ranks,
                    size_t i)
{
    const struct report_rank *rank = &ranks->items[i];
    char name[NAME_MAX_BYTES];
    const char *cells[COLUMNS] = {
        name_of(ranks, i, name),
        units_bytes(rank->peak_allocated),
        units_bytes(rank->peak_reserved),
        rank->asked > 0 ? units_bytes(rank->asked) : "-",
        units_count(rank->events),
    };

    table_add(table, cells);
}

static bool print_table(const struct report_ranks *ranks, size_t rows)
{
    const char *const head[COLUMNS] = {"rank", "allocated", "reserved",
                                       "failed request", "events"};
    const struct report_rank **order = calloc(ranks->count, sizeof *order);
    struct table table;
    bool ok;

    if (order == NULL)
        return false;
    for (size_t i = 0; i < ranks->count; i++)
        order[i] = &ranks->items[i];
    qsort(order, ranks->count, sizeof *order, worst_first);
    table_init(&table, COLUMNS, head);
    for (size_t i = 0; i < ranks->count && i < rows; i++)
        add_row(&table, ranks, (size_t)(order[i] - ranks->items));
    ok = table_print(&table);
    table_free(&table);
    free(order);
    if (ranks->count > rows)
        printf("and %zu more (--all has all)\n", ranks->count - rows);
    return ok;
}

bool ranks_report_print(const struct report_ranks *ranks,
                        const struct report_options *opt, size_t rows,
                        struct tool_error *error)
{
    if (!print_verdict(ranks, opt, error))
        return false;
    putchar('\n');
    print_range("Allocated", report_ranks_allocated(ranks));
    print_range("Reserved", report_ranks_reserved(ranks));
    print_outliers(ranks);
    print_common(ranks);
    putchar('\n');
    return print_table(ranks, rows) || tool_fail(error, "out of host memory");
}
