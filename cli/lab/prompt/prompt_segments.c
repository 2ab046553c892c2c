/* prompt_segments.c - a chart of the allocator's segments and blocks. */
#include <inttypes.h>
#include <string.h>

#include "prompt_shell.h"
#include "units.h"

enum { SEGMENTS_MAX = 40, CELLS_MAX = 200, CELLS_MIN = 16, BEFORE = 26 };

struct map {
    struct prompt_text *out;
    uint64_t largest;
    size_t segments;
    size_t width; /* cells of the largest one */
    char cells[CELLS_MAX];
    size_t cell_count; /* of the segment being drawn */
    bool odd;          /* alternates, to tell adjacent blocks apart */
    bool ascii;
};

static int find_largest(void *ctx, const larder_segment_info *segment)
{
    struct map *m = ctx;

    if (segment->bytes > m->largest)
        m->largest = segment->bytes;
    return 0;
}

static void put_cells(struct map *m)
{
    static const char *const drawn[] = {"█", "▓", "▒", "░"};
    const char *kinds = "#=~.";

    for (size_t i = 0; i < m->cell_count; i++) {
        size_t kind = (size_t)(strchr(kinds, m->cells[i]) - kinds);

        prompt_text_put(m->out, "%s",
                        m->ascii ? (char[]){m->cells[i], '\0'} : drawn[kind]);
    }
    if (m->cell_count > 0)
        prompt_text_put(m->out, "\n");
    m->cell_count = 0;
}

static int begin_segment(void *ctx, const larder_segment_info *segment)
{
    struct map *m = ctx;
    char bytes[UNITS_MAX];
    char allocated[UNITS_MAX];
    size_t cells;

    put_cells(m);
    if (++m->segments > SEGMENTS_MAX)
        return 0;
    cells = (size_t)((double)segment->bytes / (double)m->largest *
                     (double)m->width);
    m->cell_count = cells < CELLS_MIN ? (size_t)CELLS_MIN : cells;
    memset(m->cells, '.', sizeof m->cells);
    m->odd = false;
    prompt_text_put(m->out, "  %s %9s %9s  ",
                    segment->is_large ? "large" : "small",
                    units_bytes(segment->bytes, bytes),
                    units_bytes(segment->allocated_bytes, allocated));
    return 0;
}

/* The cells that the block touches: even a small one gets its own cell, as far
 * as there is room. */
static int draw_block(void *ctx, const larder_segment_info *segment,
                      const larder_block_info *block)
{
    struct map *m = ctx;
    double scale;
    size_t from, to;
    char kind = '.';

    if (m->segments > SEGMENTS_MAX || m->cell_count == 0)
        return 0;
    if (block->state == LARDER_BLOCK_FREE) {
        m->odd = false;
        return 0;
    }
    scale = (double)m->cell_count / (double)segment->bytes;
    from = (size_t)((double)(block->addr - segment->addr) * scale);
    to = (size_t)((double)(block->addr + block->bytes - segment->addr) * scale);
    if (to > m->cell_count)
        to = m->cell_count;
    if (to <= from)
        to = from < m->cell_count ? from + 1 : from;
    if (block->state == LARDER_BLOCK_PENDING)
        kind = '~';
    else
        kind = m->odd ? '=' : '#';
    m->odd = !m->odd;
    memset(m->cells + from, kind, to - from);
    return 0;
}

bool prompt_segments(struct prompt_shell *s, const char *argument)
{
    larder_allocator *a = lab_allocator(s->prompt.lab);
    struct map m = {.out = &s->prompt.output, .ascii = s->ascii};
    size_t width = s->width != 0 ? s->width : 80;

    (void)argument;
    m.width =
        width > BEFORE + CELLS_MIN + 1 ? width - BEFORE - 1 : (size_t)CELLS_MIN;
    if (m.width > CELLS_MAX)
        m.width = CELLS_MAX;
    larder_walk(a, find_largest, NULL, &m);
    if (m.largest == 0) {
        prompt_text_put(m.out, "  no segments: nothing is held from the "
                               "driver\n");
        return true;
    }
    prompt_text_put(m.out, "  pool    segment allocated  ");
    prompt_text_put(m.out, m.ascii ? "# = blocks in use  ~ waiting  . free\n"
                                   : "█ ▓ blocks in use  ▒ waiting  ░ free\n");
    larder_walk(a, begin_segment, draw_block, &m);
    put_cells(&m);
    if (m.segments > SEGMENTS_MAX)
        prompt_text_put(m.out, "  and %zu more segments\n",
                        m.segments - SEGMENTS_MAX);
    return true;
}
