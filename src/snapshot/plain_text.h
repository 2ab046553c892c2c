/* plain_text.h - makes text safe for a terminal.  File names and contents may
 * be anything: control characters, which a terminal would execute, and
 * characters that change the direction of the text after them are never
 * printed.  Everything that prints foreign text uses this; plain() does the
 * same in the page. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* The length in bytes of the control character or of the mark of direction that
 * begins here, and its number; 0: another character. */
size_t plain_text_control(const char *text, unsigned *code);

/* Replace each of them by '?', and each byte that is not UTF-8; blanks and line
 * ends by a blank.  The text does not grow. */
void plain_text(char *text);

/* Print it so; of a very long one the end. */
void plain_text_put(FILE *out, const char *text);

/* A copy in which each byte that is not UTF-8 is U+FFFD, those of a lone
 * surrogate too.  NULL: no host memory.  The caller frees it. */
char *utf8_clean(const char *text);
