/* table.c - a table of text with aligned columns. */
#include "table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"

enum { NAME_MIN = 12, GAP = 2, GAP_NARROW = 1 };

void table_init(struct table *t, size_t columns, const char *const *names)
{
    assert(columns <= TABLE_COLUMNS_MAX);
    *t = (struct table){.columns = columns};
    table_add(t, names);
}

void table_free(struct table *t)
{
    for (size_t i = 0; i < t->rows * t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct table){0};
}

void table_add(struct table *t, const char *const *cells)
{
    size_t used = t->rows * t->columns;
    char **grown = realloc(t->cells, (used + t->columns) * sizeof *grown);

    if (grown == NULL) {
        t->failed = true;
        return;
    }
    t->cells = grown;
    t->rows++;
    for (size_t i = 0; i < t->columns; i++) {
        t->cells[used + i] = strdup(cells[i]);
        if (t->cells[used + i] == NULL)
            t->failed = true;
    }
}

static const char *table_cell(const struct table *t, size_t row, size_t column)
{
    const char *cell = t->cells[row * t->columns + column];

    return cell != NULL ? cell : "?";
}

static size_t column_width(const struct table *t, size_t column)
{
    size_t width = 0;

    for (size_t r = 0; r < t->rows; r++) {
        size_t length = strlen(table_cell(t, r, column));

        if (length > width)
            width = length;
    }
    return width;
}

/* Set the widths of the columns.  Returns the width of the gaps between
 * them. */
static int measure(const struct table *t, size_t *widths)
{
    size_t gaps = t->columns - 1;
    size_t terminal = (size_t)terminal_width(stdout);
    size_t others = 0;

    for (size_t c = 0; c < t->columns; c++) {
        widths[c] = column_width(t, c);
        others += c > 0 ? widths[c] : 0;
    }
    if (terminal == 0 || widths[0] + others + GAP * gaps <= terminal)
        return GAP;
    others += GAP_NARROW * gaps;
    if (others + NAME_MIN > terminal)
        widths[0] = widths[0] < NAME_MIN ? widths[0] : (size_t)NAME_MIN;
    else if (widths[0] > terminal - others)
        widths[0] = terminal - others;
    return GAP_NARROW;
}

/* The end of a path is more informative than its folders. */
static void print_name(const char *name, size_t width, bool keeps_front)
{
    size_t length = strlen(name);

    if (length > width && keeps_front)
        printf("%.*s...", (int)width - 3, name);
    else if (length > width)
        printf("...%s", name + (length - width + 3));
    else
        printf("%-*s", (int)width, name);
}

bool table_print(const struct table *t)
{
    bool colour = terminal_has_colour(stdout);
    size_t widths[TABLE_COLUMNS_MAX];
    int gap;

    assert(t->columns > 0 && t->columns <= TABLE_COLUMNS_MAX);
    gap = measure(t, widths);
    for (size_t r = 0; r < t->rows; r++) {
        bool bold = colour && r == 0;

        fputs(bold ? "\033[1m" : "", stdout);
        print_name(table_cell(t, r, 0), widths[0], t->keeps_front);
        for (size_t c = 1; c < t->columns; c++)
            printf("%*s%*s", gap, "", (int)widths[c], table_cell(t, r, c));
        puts(bold ? "\033[0m" : "");
    }
    return !t->failed;
}
