/* json_text.h - writes strings as JSON. */
#ifndef LARDER_CONVERT_JSON_TEXT_H
#define LARDER_CONVERT_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Write UTF-8 text in quotes.  Check ferror() for success. */
void json_text_write(FILE *out, const char *text, size_t length);

#endif
