/* summary.c - the table of torch.cuda.memory_summary(), with identical
 * columns. */
#include <inttypes.h>

#include "base/text.h"
#include "core/observe/summary.h"

enum { SUMMARY_WIDTH = 75 };

static void add_rule(struct text *t, char c)
{
    char rule[SUMMARY_WIDTH + 1];

    for (int i = 0; i < SUMMARY_WIDTH; i++)
        rule[i] = c;
    rule[SUMMARY_WIDTH] = '\0';
    larder__text_add(t, "|%s|\n", rule);
}

/* The unit of a row's column: the value of both pools decides it, so that the
 * pools' rows below show the same unit. */
struct scale {
    int64_t divisor;
    const char *unit;
};

static struct scale scale_bytes(int64_t value)
{
    static const char *const units[] = {"B  ", "KiB", "MiB",
                                        "GiB", "TiB", "PiB"};
    struct scale s = {.divisor = 1, .unit = units[0]};

    for (int i = 1; i < 6 && value >= 768 * 1024; i++) {
        value /= 1024;
        s.divisor *= 1024;
        s.unit = units[i];
    }
    return s;
}

static struct scale scale_count(int64_t value)
{
    static const char *const units[] = {" ", "K", "M"};
    struct scale s = {.divisor = 1, .unit = units[0]};

    for (int i = 1; i < 3 && value >= 750 * 1000; i++) {
        value /= 1000;
        s.divisor *= 1000;
        s.unit = units[i];
    }
    return s;
}

static void add_cell(struct text *t, int64_t value, int64_t scale_by,
                     int is_bytes)
{
    struct scale s = is_bytes ? scale_bytes(scale_by) : scale_count(scale_by);

    larder__text_add(t, is_bytes ? " %6" PRId64 " %s |" : " %7" PRId64 " %s  |",
                     value / s.divisor, s.unit);
}

static void add_row(struct text *t, const char *name, const larder_stat *st,
                    const larder_stat *scale_by, int is_bytes)
{
    larder__text_add(t, "| %-21s |", name);
    add_cell(t, st->current, scale_by->current, is_bytes);
    add_cell(t, st->peak, scale_by->peak, is_bytes);
    add_cell(t, st->allocated, scale_by->allocated, is_bytes);
    add_cell(t, st->freed, scale_by->freed, is_bytes);
    larder__text_add(t, "\n");
}

static void add_rows(struct text *t, const char *name,
                     const larder_stat_split *st, int is_bytes, int abbreviated)
{
    add_rule(t, '-');
    add_row(t, name, &st->all, &st->all, is_bytes);
    if (abbreviated)
        return;
    add_row(t, "      from large pool", &st->large_pool, &st->all, is_bytes);
    add_row(t, "      from small pool", &st->small_pool, &st->all, is_bytes);
}

static void add_head(struct text *t, const larder_stats *st, int ordinal)
{
    add_rule(t, '=');
    larder__text_add(t, "|%18s Larder CUDA memory summary, device ID %-17d |\n",
                     "", ordinal);
    add_rule(t, '-');
    larder__text_add(t,
                     "|  %9s CUDA OOMs: %-12" PRId64 " | %6s cudaMalloc "
                     "retries: %-8" PRId64 "  |\n",
                     "", st->num_ooms, "", st->num_alloc_retries);
    add_rule(t, '=');
    larder__text_add(t, "|        Metric         | Cur Usage  | Peak Usage | "
                        "Tot Alloc  | Tot Freed  |\n");
}

size_t larder__summary(const larder_stats *st, int ordinal, int abbreviated,
                       char *out, size_t capacity)
{
    const struct {
        const char *name;
        const larder_stat_split *stat;
        int is_bytes;
    } table[] = {
        {"Allocated memory", &st->allocated_bytes, 1},
        {"Active memory", &st->active_bytes, 1},
        {"Requested memory", &st->requested_bytes, 1},
        {"GPU reserved memory", &st->reserved_bytes, 1},
        {"Non-releasable memory", &st->inactive_split_bytes, 1},
        {"Allocations", &st->allocation, 0},
        {"Active allocs", &st->active, 0},
        {"GPU reserved segments", &st->segment, 0},
        {"Non-releasable allocs", &st->inactive_split, 0},
    };
    struct text t;

    larder__text_init(&t, out, capacity);
    add_head(&t, st, ordinal);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        add_rows(&t, table[i].name, table[i].stat, table[i].is_bytes,
                 abbreviated);
    add_rule(&t, '-');
    add_row(&t, "Oversize allocations", &st->oversize_allocations,
            &st->oversize_allocations, 0);
    add_rule(&t, '-');
    add_row(&t, "Oversize GPU segments", &st->oversize_segments,
            &st->oversize_segments, 0);
    add_rule(&t, '=');
    return t.length;
}
