/* panel.c - a chart of what a statement did to memory.
 *
 *   > b = b.to('cpu')
 *     host              1.00 GiB  +1.00 GiB  ████▏░░░░░░░░
 *     device of 3.00 GiB (the full length of all five bars)
 *       nvidia-smi shows  2.98 GiB             ▒▒▒▒████████▉  context 1001 ...
 *       reserved          2.00 GiB             ████████▋░░░░
 *       allocated         1.00 GiB  -1.00 GiB  ████▏░░░░░░░░
 *       peak              2.00 GiB             ████████▋░░░░
 *
 * The full length of every bar, the host's too, is the device's size, so that
 * lengths can be compared. */
#include <stdio.h>
#include <string.h>

#include "tensor/writer.h"
#include "tensor/tensor.h"

enum {
    WIDTH_DEFAULT = 80,
    LABEL = 21,
    VALUE = 9,
    CHANGE = 11,
    GAP = 2,
    BAR_MIN = 10,
    BAR_MAX = 40,
    EIGHTHS = 8
};

#define BEFORE_BAR (LABEL + VALUE + CHANGE + GAP)

enum ink {
    INK_NONE,
    INK_BOLD,
    INK_DIM,
    INK_HOST,
    INK_SMI,
    INK_RESERVED,
    INK_ALLOCATED,
    INK_MORE,
    INK_LESS
};

struct panel {
    struct lab__writer w;
    const lab_memory *now;
    const lab_memory *before; /* NULL: no changes */
    unsigned flags;
    size_t bar;   /* columns of a bar */
    size_t width; /* total number of columns */
};

/* One line: a figure. */
struct line {
    const char *label;
    uint64_t value;
    uint64_t was;
    uint64_t context; /* first part of the bar, drawn differently */
    enum ink ink;
    const char *note; /* shown if there is room */
};

/* ---- colours ----------------------------------------------------------- */

static void ink_on(struct panel *p, enum ink ink)
{
    static const char *const codes[] = {
        [INK_NONE] = "",
        [INK_BOLD] = "\033[1m",
        [INK_DIM] = "\033[2m",
        [INK_HOST] = "\033[34m",
        [INK_SMI] = "\033[35m",
        [INK_RESERVED] = "\033[33m",
        [INK_ALLOCATED] = "\033[32m",
        [INK_MORE] = "\033[33m",
        [INK_LESS] = "\033[36m",
    };

    if ((p->flags & LAB_PANEL_COLOUR) != 0 && ink != INK_NONE)
        lab__write(&p->w, "%s", codes[ink]);
}

static void ink_off(struct panel *p, enum ink ink)
{
    if ((p->flags & LAB_PANEL_COLOUR) != 0 && ink != INK_NONE)
        lab__write(&p->w, "\033[0m");
}

static void write_inked(struct panel *p, enum ink ink, const char *text)
{
    ink_on(p, ink);
    lab__write(&p->w, "%s", text);
    ink_off(p, ink);
}

/* ---- bars --------------------------------------------------------------- */

/* Bytes as eighths of a column, rounded down so that a bar looks full only if
 * it is.  Any nonzero amount is visible. */
static size_t eighths_of(const struct panel *p, uint64_t bytes)
{
    size_t full = p->bar * EIGHTHS;
    double part = p->now->device_bytes > 0
                      ? (double)bytes / (double)p->now->device_bytes
                      : 0;
    size_t n = part >= 1 ? full : (size_t)(part * (double)full);

    return bytes > 0 && n == 0 ? 1 : n;
}

static void repeat(struct panel *p, const char *glyph, size_t count)
{
    while (count-- > 0)
        lab__write_text(&p->w, glyph, strlen(glyph));
}

static const char *partial_glyph(const struct panel *p, size_t eighths)
{
    static const char *const blocks[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

    return (p->flags & LAB_PANEL_ASCII) != 0 ? "-" : blocks[eighths];
}

static void draw_bar(struct panel *p, const struct line *line)
{
    bool ascii = (p->flags & LAB_PANEL_ASCII) != 0;
    size_t n = eighths_of(p, line->value);
    size_t context = eighths_of(p, line->context) / EIGHTHS;
    size_t whole = n / EIGHTHS;
    size_t rest = n % EIGHTHS;

    /* A context smaller than a column is not drawn separately. */
    if (context > whole)
        context = whole;
    ink_on(p, line->ink);
    repeat(p, ascii ? "+" : "▒", context);
    repeat(p, ascii ? "#" : "█", whole - context);
    if (rest > 0)
        repeat(p, partial_glyph(p, rest), 1);
    ink_off(p, line->ink);
    ink_on(p, INK_DIM);
    repeat(p, ascii ? "." : "░", p->bar - whole - (rest > 0));
    ink_off(p, INK_DIM);
}

/* ---- lines --------------------------------------------------------------- */

static void write_change(struct panel *p, const struct line *line)
{
    bool more = line->value > line->was;
    uint64_t by = more ? line->value - line->was : line->was - line->value;
    char text[LAB__BYTES_TEXT];
    char change[LAB__BYTES_TEXT + 2] = "";
    char padded[LAB__BYTES_TEXT + CHANGE];

    if (p->before != NULL && by > 0)
        snprintf(change, sizeof change, "%c%s", more ? '+' : '-',
                 lab__bytes_text(by, text));
    snprintf(padded, sizeof padded, "%*s", CHANGE, change);
    write_inked(p,
                change[0] == '\0' ? INK_NONE
                : more            ? INK_MORE
                                  : INK_LESS,
                padded);
}

static void write_line(struct panel *p, const struct line *line)
{
    char text[LAB__BYTES_TEXT];
    size_t used = BEFORE_BAR + p->bar + GAP;

    lab__write(&p->w, "%-*s%*s", LABEL, line->label, VALUE,
               lab__bytes_text(line->value, text));
    write_change(p, line);
    lab__write(&p->w, "%*s", GAP, "");
    draw_bar(p, line);
    if (line->note != NULL && used + strlen(line->note) <= p->width) {
        lab__write(&p->w, "%*s", GAP, "");
        write_inked(p, INK_DIM, line->note);
    }
    lab__write(&p->w, "\n");
}

static void write_statement(struct panel *p, const char *statement)
{
    const char *mark = "> ";

    while (*statement != '\0') {
        size_t length = strcspn(statement, "\n");

        ink_on(p, INK_BOLD);
        lab__write(&p->w, "%s", mark);
        lab__write_text(&p->w, statement, length);
        ink_off(p, INK_BOLD);
        lab__write(&p->w, "\n");
        statement += length + (statement[length] == '\n');
        mark = ". ";
    }
}

static void write_device_head(struct panel *p)
{
    char text[LAB__BYTES_TEXT];

    lab__write(&p->w, "  device of %s",
               lab__bytes_text(p->now->device_bytes, text));
    write_inked(p, INK_DIM, " (the full length of all five bars)");
    lab__write(&p->w, "\n");
}

static void write_figures(struct panel *p)
{
    static const lab_memory nothing;
    const lab_memory *m = p->now;
    const lab_memory *was = p->before != NULL ? p->before : &nothing;
    char text[LAB__BYTES_TEXT];
    char smi_note[64] = "is reserved";

    if (m->context_bytes > 0)
        snprintf(smi_note, sizeof smi_note, "context %s + reserved",
                 lab__bytes_text(m->context_bytes, text));
    write_line(p, &(struct line){"  host", m->host_bytes, was->host_bytes, 0,
                                 INK_HOST, NULL});
    write_device_head(p);
    write_line(p, &(struct line){"    nvidia-smi shows", m->smi_bytes,
                                 was->smi_bytes, m->context_bytes, INK_SMI,
                                 m->context_bytes > 0 ? smi_note : NULL});
    write_line(p, &(struct line){"    reserved", m->reserved_bytes,
                                 was->reserved_bytes, 0, INK_RESERVED,
                                 "allocated + cached"});
    write_line(p, &(struct line){"    allocated", m->allocated_bytes,
                                 was->allocated_bytes, 0, INK_ALLOCATED,
                                 "in live tensors"});
    write_line(p, &(struct line){"    peak", m->allocated_peak,
                                 was->allocated_peak, 0, INK_ALLOCATED,
                                 "the most allocated"});
}

/* A bar takes the width that is left; from 100 columns on it leaves room for
 * the notes. */
static size_t bar_columns(size_t width)
{
    const size_t note = 30;
    size_t room = width > BEFORE_BAR ? width - BEFORE_BAR : 0;

    if (room >= BAR_MIN + note + GAP)
        room -= note + GAP;
    if (room < BAR_MIN)
        return BAR_MIN;
    return room < BAR_MAX ? room : (size_t)BAR_MAX;
}

size_t lab_panel(lab *l, const char *statement, const lab_memory *before,
                 unsigned width, unsigned flags, char *buf, size_t cap)
{
    struct panel p = {.before = before, .flags = flags};
    lab_memory now;

    lab__writer_init(&p.w, buf, cap);
    lab_memory_init(&now);
    if (lab_memory_get(l, &now) != LARDER_OK)
        return 0;
    p.now = &now;
    p.width = width != 0 ? width : WIDTH_DEFAULT;
    p.bar = bar_columns(p.width);
    if (statement != NULL)
        write_statement(&p, statement);
    write_figures(&p);
    return p.w.length;
}
