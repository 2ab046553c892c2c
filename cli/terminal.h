/* terminal.h - properties of the terminal behind a stream. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A terminal that can move its cursor: TERM is set and is not "dumb". */
bool terminal_is_smart(FILE *f);

/* A smart one, and NO_COLOR is not set or empty. */
bool terminal_has_colour(FILE *f);

/* Whether text in the locale's encoding is UTF-8: after setlocale(). */
bool terminal_is_utf8(void);

/* Columns; 0: it is not a terminal. */
int terminal_width(FILE *f);
