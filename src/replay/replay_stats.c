/* replay_stats.c - the allocator's statistics as lines of text, under PyTorch's
 * names. */
#include <inttypes.h>

#include "replay/replay_session.h"

static void write_stat(FILE *out, const char *name, const char *pool,
                       const larder_stat *st)
{
    fprintf(out, " %s%s=%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, name,
            pool, st->current, st->peak, st->allocated, st->freed);
}

static void write_split(FILE *out, const char *name,
                        const larder_stat_split *st)
{
    write_stat(out, name, ".all", &st->all);
    write_stat(out, name, ".small_pool", &st->small_pool);
    write_stat(out, name, ".large_pool", &st->large_pool);
}

bool replay_stats_write(FILE *out, uint64_t ops, const larder_stats *st)
{
    fprintf(out, "s %" PRIu64, ops);
#define X(name, text) write_split(out, #name, &st->name);
    LARDER_METRIC_MAP(X)
#undef X
    write_stat(out, "oversize_allocations", "", &st->oversize_allocations);
    write_stat(out, "oversize_segments", "", &st->oversize_segments);
#define X(name, text) fprintf(out, " " #name "=%" PRId64, st->name);
    LARDER_COUNTER_MAP(X)
#undef X
    return fputc('\n', out) != EOF && ferror(out) == 0;
}
