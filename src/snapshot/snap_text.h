/* snap_text.h - converts text in files to numbers and UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* UTF-8 that may contain lone surrogates, as Python writes them. */
bool snap_utf8_valid(const unsigned char *p, size_t count);

/* Write a code point, at most 0x10ffff.  Returns the number of bytes. */
size_t snap_utf8_put(char *out, uint32_t code);

/* Read hexadecimal digits, for example four. */
bool snap_hex(const char *text, size_t digits, uint32_t *out);

/* Read an optional sign and digits, which must be the whole text; *is_big:
 * above INT64_MAX.  False: anything else, or more than 64 bits. */
bool snap_integer(const char *text, size_t length, uint64_t *bits,
                  bool *is_big);

/* Decode Python's raw-unicode-escape; `out` has room for 2 * length + 4
 * bytes. */
bool snap_raw_unicode(const char *text, size_t length, char *out, size_t *used);
