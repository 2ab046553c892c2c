/* json_text.h - writes strings as JSON. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* If the text begins with a lone surrogate, which Python makes of a byte of a
 * file's name that is not UTF-8, and which UTF-8 may not contain: write the
 * character that stands for any other, and return the bytes to skip; else 0. */
size_t json_text_surrogate(FILE *out, const char *text, size_t length);

/* Write UTF-8 text in quotes, surrogates as above.  Check ferror() for
 * success. */
void json_text_write(FILE *out, const char *text, size_t length);
