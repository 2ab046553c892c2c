/* utf8_clean.h - text that may contain anything, as JSON needs it. */
#pragma once

#include <stddef.h>

/* The length of the character at the beginning; 0: it is not UTF-8, or the half
 * of a surrogate pair. */
size_t utf8_character(const char *text);

/* A copy in which each byte that is not UTF-8 is U+FFFD, those of a lone
 * surrogate too.  NULL: no host memory.  The caller frees it. */
char *utf8_clean(const char *text);
