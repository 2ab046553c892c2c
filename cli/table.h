/* table.h - a table of text with aligned columns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS_MAX = 16 };

/* The first column has names: left-aligned, and truncated, if the table would be
 * wider than the terminal, at the front, as paths are, or at the end.  The others
 * are right-aligned. */
struct table {
    size_t columns;
    size_t rows;
    char **cells; /* rows * columns, each malloc'd; row 0: heading */
    bool keeps_front;
    bool failed; /* no host memory: rows are missing */
};

/* With the columns' names as its first row. */
void table_init(struct table *t, size_t columns, const char *const *names);
void table_free(struct table *t);

/* Add a row of `columns` cells; copies them. */
void table_add(struct table *t, const char *const *cells);

/* Print to the standard output, with a highlighted heading on a terminal.
 * False: there was no host memory for some row. */
bool table_print(const struct table *t);
