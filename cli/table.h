/* table.h - a table of text with aligned columns. */
#ifndef LARDER_CLI_TABLE_H
#define LARDER_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS_MAX = 16 };

/* The first column is of names: left-aligned, and cut short (at its front)
 * where the table would be wider than the terminal.  The others are
 * right-aligned. */
struct table {
    size_t columns;
    size_t rows;
    char **cells; /* rows * columns, each malloc'd; row 0 is the head */
    bool failed;  /* no host memory: rows are missing */
};

void table_init(struct table *t, size_t columns);
void table_free(struct table *t);

/* Add a row of `columns` cells; copies them. */
void table_add(struct table *t, const char *const *cells);

/* Print on the standard output; the head stands out on a terminal.  False if
 * there was no host memory for some row. */
bool table_print(const struct table *t);

#endif
