/* stats_api.c - the public calls that read and reset statistics, and those that
 * register callbacks. */
#include <inttypes.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"
#include "base/text.h"
#include "core/entry/handle.h"

void larder_stats_init_sized(larder_stats *st, size_t size)
{
    sized_init(st, size);
}

static void stats_fill(struct allocator *a, larder_stats *out)
{
    larder_stats_init(out);
    larder__stats_copy(&a->stats, out);
    out->max_split_size = a->told_max_split_bytes;
}

larder_result larder_stats_get(larder_allocator *handle, larder_stats *st)
{
    struct allocator *a;
    larder_stats own;
    larder_result r;

    if (st == NULL || st->size < sizeof st->size)
        return larder__fail(LARDER_ERR_INVALID,
                            "larder_stats: use larder_stats_init()");
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    stats_fill(a, &own);
    larder__handle_unlock(a);
    return sized_write(st, &own, sizeof own);
}

larder_result larder_stats_reset_peak(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    larder__stats_reset_peak(&a->stats);
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_stats_reset_accumulated(larder_allocator *handle)
{
    struct allocator *a;
    larder_result r = larder__handle_lock(handle, &a);

    if (r != LARDER_OK)
        return r;
    larder__stats_reset_accumulated(&a->stats);
    return larder__handle_end(a, LARDER_OK);
}

/* ---- the table of torch.cuda.memory_summary(), with identical columns -------- */

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

static struct scale scale_of(int64_t value, bool is_bytes)
{
    static const char *const bytes[] = {"B  ", "KiB", "MiB", "GiB",
                                        "TiB", "PiB", NULL};
    static const char *const counts[] = {" ", "K", "M", NULL};
    const int64_t step = is_bytes ? 1024 : 1000;
    const int64_t most = step * (is_bytes ? 768 : 750);
    const char *const *unit = is_bytes ? bytes : counts;
    struct scale s = {.divisor = 1};

    for (; value >= most && unit[1] != NULL; unit++) {
        value /= step;
        s.divisor *= step;
    }
    s.unit = *unit;
    return s;
}

static void add_cell(struct text *t, int64_t value, int64_t scale_by,
                     int is_bytes)
{
    struct scale s = scale_of(scale_by, is_bytes != 0);

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

/* Returns the length of the complete text. */
static size_t summary(const larder_stats *st, int ordinal, int abbreviated,
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

larder_result larder_memory_summary(larder_allocator *handle, int abbreviated,
                                    char *out, size_t capacity, size_t *needed)
{
    struct allocator *a;
    larder_stats st;
    size_t length;
    int ordinal;
    larder_result r;

    if (out == NULL && capacity > 0)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    stats_fill(a, &st);
    ordinal = a->props.ordinal;
    larder__handle_unlock(a);
    length = summary(&st, ordinal, abbreviated, out, capacity);
    if (needed != NULL)
        *needed = length;
    return LARDER_OK;
}

/* ---- callbacks ------------------------------------------------------------ */

enum callback_kind { RECLAIM, OOM_OBSERVER };

static larder_result callback_add(larder_allocator *handle,
                                  enum callback_kind kind, void (*fn)(void),
                                  void *ctx)
{
    struct callbacks *c;
    struct allocator *a;
    larder_result r;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    c = kind == RECLAIM ? &a->reclaims : &a->oom_observers;
    if (HOST_ROOM(c->list, c->capacity, c->count + 1))
        c->list[c->count++] = (struct callback){fn, ctx};
    else
        r = larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    return larder__handle_end(a, r);
}

larder_result larder_add_reclaim(larder_allocator *handle,
                                 larder_reclaim_fn *fn, void *ctx)
{
    return callback_add(handle, RECLAIM, (void (*)(void))fn, ctx);
}

larder_result larder_add_oom_observer(larder_allocator *handle,
                                      larder_oom_fn *fn, void *ctx)
{
    return callback_add(handle, OOM_OBSERVER, (void (*)(void))fn, ctx);
}
