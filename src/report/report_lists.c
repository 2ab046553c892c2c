/* report_lists.c - the holders of memory at the peak, the segments, and what was
 * free in them. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/call_tree.h"
#include "report/frame_groups.h"
#include "report/report_words.h"
#include "report/report_writing.h"

static void write_share(const struct report_writing *w,
                        const struct report_group *g)
{
    fprintf(w->out, "  %10s  %3.0f %%  %6" PRIu64 "  ", units_bytes(g->bytes),
            report_percent(g->bytes, w->r->peak.allocated), g->count);
}

static bool is_told(const void *lifetimes, uint32_t number)
{
    const struct lifetimes *l = lifetimes;
    enum report_category category;

    return report_category_told(l->snapshot, l->allocs[number].user_metadata,
                                &category);
}

uint64_t report_told_bytes(const struct run_summary *r)
{
    return moment_sum_of(&r->peak, is_told, r->lifetimes).bytes;
}

/* Whether categories were named or guessed, for most of the memory. */
static const char *told_words(const struct report_writing *w)
{
    uint64_t told = report_told_bytes(w->r);

    if (told == 0)
        return ", inferred";
    return told < w->r->peak.allocated / 20 * 19 ? ", partly inferred"
                                                 : ", as recorded";
}

static void write_kinds(const struct report_writing *w)
{
    fprintf(w->out,
            "\nAlive at the peak, by category%s (bytes, share, allocations)\n",
            told_words(w));
    for (size_t i = 0; i < w->r->kinds.count; i++) {
        const struct report_group *g = &w->r->kinds.items[i];

        write_share(w, g);
        fprintf(w->out, "%s\n",
                report_category_name((enum report_category)g->key));
    }
}

static void write_lines(const struct report_writing *w)
{
    struct report_groups groups = report_by_groups(w->arena, w->r, w->opt->by);

    fprintf(w->out, "\nBy %s\n", report_by_name(w->opt->by));
    for (size_t i = 0; i < groups.count && i < w->top; i++) {
        write_share(w, &groups.items[i]);
        fprintf(w->out, "%s\n",
                report_group_label(w->s, &groups.items[i], w->opt->by,
                                   w->opt->paths));
    }
    if (groups.count > w->top)
        fprintf(w->out, "  and %zu more\n", groups.count - w->top);
}

static void write_tree(const struct report_writing *w)
{
    struct call_tree tree;

    if (!w->opt->tree)
        return;
    call_tree_make(w->arena, w->s, &w->r->paths, &tree);
    fputs("\nBy call tree, outermost first (without C++, PyTorch and Python's "
          "own library)\n",
          w->out);
    call_tree_write(&tree, w->s, w->top, w->opt->paths, w->out);
}

static void write_path(const struct report_writing *w,
                       const struct report_group *g)
{
    const struct lifetime *a = &w->r->lifetimes->allocs[g->largest];
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, g->key, &count);

    write_share(w, g);
    fprintf(w->out, "largest %s\n", units_bytes(a->requested));
    for (size_t i = 0; i < count; i++)
        fprintf(w->out, "                              %s\n",
                report_frame(w->s, frames[i], true));
}

static void write_paths(const struct report_writing *w)
{
    const struct report_groups *paths = &w->r->paths;

    if (!w->opt->paths)
        return;
    fputs("\nBy call path, innermost first\n", w->out);
    for (size_t i = 0; i < paths->count && i < w->top; i++) {
        if (paths->items[i].key != 0)
            write_path(w, &paths->items[i]);
    }
}

/* ---- segments, and what was free in them --------------------------------- */

enum { MAP_WIDTH = 48, SEGMENTS_SHOWN = 12 };

/* A cell is full, partly used or free. */
static void write_cells(const struct report_writing *w,
                        const struct moment_area *area)
{
    const struct moment *m = &w->r->peak;
    uint64_t used[MAP_WIDTH] = {0};
    uint64_t cell = area->size / MAP_WIDTH + 1;

    for (uint32_t i = 0; i < area->count; i++) {
        const struct lifetime *a =
            &m->lifetimes->allocs[m->live[area->first + i]];
        uint64_t from = a->address - area->address;
        uint64_t to = from + a->rounded;

        for (size_t c = (size_t)(from / cell); c < MAP_WIDTH && c * cell < to;
             c++) {
            uint64_t low = c * cell > from ? c * cell : from;
            uint64_t high = (c + 1) * cell < to ? (c + 1) * cell : to;

            used[c] += high - low;
        }
    }
    for (size_t c = 0; c < MAP_WIDTH && c * cell < area->size; c++) {
        const char *mark = used[c] * 10 >= cell * 9 ? "#"
                           : used[c] > 0            ? "+"
                                                    : ".";

        fputs(mark, w->out);
    }
}

static int by_free(const void *a, const void *b)
{
    const struct moment_area *const *x = a;
    const struct moment_area *const *y = b;
    uint64_t free_x = moment_area_free(*x);
    uint64_t free_y = moment_area_free(*y);

    if (free_x != free_y)
        return free_x < free_y ? 1 : -1;
    if ((*x)->size != (*y)->size)
        return (*x)->size < (*y)->size ? 1 : -1;
    return ((*x)->address > (*y)->address) - ((*x)->address < (*y)->address);
}

/* Segments of the same size with the same free bytes as the previous one. */
static bool is_alike(const struct moment_area *a, const struct moment_area *b)
{
    return a->size == b->size && moment_area_free(a) == moment_area_free(b);
}

static void write_rows(const struct report_writing *w,
                       const struct moment_area **order, size_t count)
{
    size_t max = w->opt->all ? count : SEGMENTS_SHOWN;
    size_t shown = 0;
    size_t alike = 0;
    size_t i;

    for (i = 0; i < count && shown < max; i++) {
        if (!w->opt->all && i > 0 && is_alike(order[i], order[i - 1])) {
            alike++;
            continue;
        }
        if (alike > 0)
            fprintf(w->out, "  and %zu more of that size, equally free\n",
                    alike);
        alike = 0;
        fprintf(w->out, "  %10s, %10s free  ", units_bytes(order[i]->size),
                units_bytes(moment_area_free(order[i])));
        write_cells(w, order[i]);
        fputs("\n", w->out);
        shown++;
    }
    if (alike > 0)
        fprintf(w->out, "  and %zu more of that size, equally free\n", alike);
    if (i < count)
        fprintf(w->out, "  and %zu more\n", count - i);
}

static void write_segments(const struct report_writing *w)
{
    const struct moment *m = &w->r->peak;
    const struct moment_area **order =
        arena_take(w->arena, m->area_count, sizeof(const struct moment_area *));

    for (size_t i = 0; i < m->area_count; i++)
        order[i] = &m->areas[i];
    qsort(order, m->area_count, sizeof(const struct moment_area *), by_free);
    fprintf(w->out, "\nSegments at the peak, most free first (# in use, + "
                    "partly, . free)\n");
    write_rows(w, order, m->area_count);
}

static void write_fragmentation(const struct report_writing *w)
{
    const struct moment *m = &w->r->peak;
    uint64_t largest;
    uint64_t unused = moment_gap_bytes(m, &largest);

    fputs("\nFragmentation at the peak\n", w->out);
    fprintf(w->out,
            "  %s of the reserved memory was free (%.1f %%), in %zu piece%s, "
            "the largest %s\n",
            units_bytes(unused), report_percent(unused, m->reserved),
            m->gap_count, report_plural(m->gap_count), units_bytes(largest));
}

void report_write_lists(const struct report_writing *w)
{
    write_kinds(w);
    write_lines(w);
    write_tree(w);
    write_paths(w);
    write_fragmentation(w);
    write_segments(w);
}
