/* report_segments.c - the segments at the peak, and what was free in them. */
#include <stdlib.h>
#include <string.h>

#include "report/report_words.h"
#include "report/report_writing.h"

enum { MAP_WIDTH = 48, SEGMENTS_SHOWN = 12 };

/* A cell is full, partly used or free. */
static void write_cells(const struct report_writing *w,
                        const struct moment_area *area)
{
    const struct moment *m = &w->r->peak;
    uint64_t used[MAP_WIDTH] = {0};
    uint64_t cell = area->size / MAP_WIDTH + 1;
    uint32_t i;
    size_t c;

    for (i = 0; i < area->count; i++) {
        const struct lifetime *a =
            &m->lifetimes->allocs[m->live[area->first + i]];
        uint64_t from = a->address - area->address;
        uint64_t to = from + a->rounded;

        for (c = (size_t)(from / cell); c < MAP_WIDTH && c * cell < to; c++) {
            uint64_t low = c * cell > from ? c * cell : from;
            uint64_t high = (c + 1) * cell < to ? (c + 1) * cell : to;

            used[c] += high - low;
        }
    }
    for (c = 0; c < MAP_WIDTH && c * cell < area->size; c++) {
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
        fprintf(w->out, "  %10s, %10s free  ", report_bytes(order[i]->size),
                report_bytes(moment_area_free(order[i])));
        write_cells(w, order[i]);
        fputs("\n", w->out);
        shown++;
    }
    if (alike > 0)
        fprintf(w->out, "  and %zu more of that size, equally free\n", alike);
    if (i < count)
        fprintf(w->out, "  and %zu more\n", count - i);
}

void report_write_segments(const struct report_writing *w)
{
    const struct moment *m = &w->r->peak;
    const struct moment_area **order =
        hoard_take(w->hoard, m->area_count, sizeof(const struct moment_area *));
    size_t i;

    for (i = 0; i < m->area_count; i++)
        order[i] = &m->areas[i];
    qsort(order, m->area_count, sizeof(const struct moment_area *), by_free);
    fprintf(w->out, "\nSegments at the peak, most free first (# in use, + "
                    "partly, . free)\n");
    write_rows(w, order, m->area_count);
}

void report_write_fragmentation(const struct report_writing *w)
{
    const struct moment *m = &w->r->peak;
    uint64_t largest;
    uint64_t unused = moment_gap_bytes(m, &largest);

    fputs("\nFragmentation at the peak\n", w->out);
    fprintf(w->out,
            "  %s of the reserved memory was free (%.1f %%), in %zu piece%s, "
            "the largest %s\n",
            report_bytes(unused), report_percent(unused, m->reserved),
            m->gap_count, report_plural(m->gap_count), report_bytes(largest));
}
