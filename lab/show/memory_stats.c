/* memory_stats.c - the allocator's statistics, named and sorted as in PyTorch's
 * memory_stats(), and its snapshot, into the caller's buffer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/history.h>

#include "tensor/tensor.h"
#include "tensor/writer.h"

enum { NAME_MAX = 48, ROWS_MAX = 160 };

struct row {
    char name[NAME_MAX];
    int64_t value;
};

struct rows {
    size_t count;
    struct row row[ROWS_MAX];
};

static void memory_stats_add(struct rows *rows, int64_t value,
                             const char *metric, const char *part)
{
    struct row *r = &rows->row[rows->count];

    if (rows->count == ROWS_MAX)
        return;
    rows->count++;
    snprintf(r->name, sizeof r->name, "%s%s", metric, part);
    r->value = value;
}

static void add_stat(struct rows *rows, const larder_stat *st,
                     const char *metric)
{
    memory_stats_add(rows, st->current, metric, ".current");
    memory_stats_add(rows, st->peak, metric, ".peak");
    memory_stats_add(rows, st->allocated, metric, ".allocated");
    memory_stats_add(rows, st->freed, metric, ".freed");
}

static void add_split(struct rows *rows, const larder_stat_split *split,
                      const char *metric)
{
    char name[NAME_MAX];

    snprintf(name, sizeof name, "%s.all", metric);
    add_stat(rows, &split->all, name);
    snprintf(name, sizeof name, "%s.large_pool", metric);
    add_stat(rows, &split->large_pool, name);
    snprintf(name, sizeof name, "%s.small_pool", metric);
    add_stat(rows, &split->small_pool, name);
}

static void memory_stats_add_all(struct rows *rows, const larder_stats *st)
{
#define X(name, text) add_split(rows, &st->name, #name);
    LARDER_METRIC_MAP(X)
#undef X
    add_stat(rows, &st->oversize_allocations, "oversize_allocations");
    add_stat(rows, &st->oversize_segments, "oversize_segments");
#define X(name, text) memory_stats_add(rows, st->name, #name, "");
    LARDER_COUNTER_MAP(X)
#undef X
    memory_stats_add(rows, st->max_split_size, "max_split_size", "");
}

static int by_name(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;

    return strcmp(left->name, right->name);
}

size_t lab_memory_stats(lab *l, char *buf, size_t cap)
{
    struct rows rows = {.count = 0};
    struct lab__writer w;
    larder_stats st;

    lab__writer_init(&w, buf, cap);
    larder_stats_init(&st);
    if (larder_stats_get(lab_allocator(l), &st) != LARDER_OK)
        return 0;
    memory_stats_add_all(&rows, &st);
    qsort(rows.row, rows.count, sizeof rows.row[0], by_name);
    for (size_t i = 0; i < rows.count; i++)
        lab__write(&w, "%s %" PRId64 "\n", rows.row[i].name, rows.row[i].value);
    return w.length;
}

/* ---- the snapshot ------------------------------------------------------- */

static int write_piece(void *ctx, const void *bytes, size_t count)
{
    lab__write_text(ctx, bytes, count);
    return 0;
}

/* Without the history: writing a snapshot is an event in it, so the text would
 * be longer than the length computed first. */
size_t lab_snapshot_json(lab *l, char *buf, size_t cap)
{
    struct lab__writer w;
    larder_snapshot_options opt;

    lab__writer_init(&w, buf, cap);
    larder_snapshot_options_init(&opt);
    opt.format = LARDER_SNAPSHOT_JSON;
    opt.no_history = 1;
    if (larder_snapshot_write_to(l->allocator, write_piece, &w, &opt) !=
        LARDER_OK)
        lab__write_text(&w, "{}", 2);
    return w.length;
}
