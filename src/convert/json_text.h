/* json_text.h - strings as JSON writes them. */
#ifndef LARDER_CONVERT_JSON_TEXT_H
#define LARDER_CONVERT_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Write UTF-8 text in quotes.  Whether it could be written is told by
 * ferror(). */
void json_text_write(FILE *out, const char *text, size_t length);

#endif
