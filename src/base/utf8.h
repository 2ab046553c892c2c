/* utf8.h - what is UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands for a byte that is not UTF-8: U+FFFD. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* The length of the character, or lone surrogate, that these bytes begin with,
 * and its number; 0: they begin with none, and *code is the first byte.  A NUL
 * ends it as the end of the bytes does. */
static inline size_t utf8_read(const unsigned char *s, size_t left,
                               uint32_t *code)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = left > 0 ? s[0] : UINT32_MAX;
    size_t n = 1;

    *code = c;
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c < 0xE0)
        n = 2;
    else if (c >= 0xE0 && c < 0xF0)
        n = 3;
    else if (c >= 0xF0 && c < 0xF5)
        n = 4;
    else
        return 0;
    c &= 0x7Fu >> n;
    for (size_t i = 1; i < n; i++) {
        if (i == left || (s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < min[n] || c > 0x10FFFF)
        return 0;
    *code = c;
    return n;
}

/* Whether it is half a surrogate pair: encoded like a character, but none. */
static inline bool utf8_is_surrogate(uint32_t code)
{
    return code >= 0xD800 && code < 0xE000;
}
