/* utf8_clean.c - text that may contain anything, as JSON needs it. */
#include "snapshot/utf8_clean.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_text.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

enum { REPLACEMENT_BYTES = sizeof replacement - 1 };

size_t utf8_character(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    /* A lone surrogate is encoded like a character, but is none. */
    if (strnlen(text, n) < n || !snap_utf8_valid(p, n) ||
        (p[0] == 0xed && p[1] >= 0xa0))
        return 0;
    return n;
}

char *utf8_clean(const char *text)
{
    char *clean = malloc(REPLACEMENT_BYTES * strlen(text) + 1);
    size_t used = 0;

    if (clean == NULL)
        return NULL;
    while (*text != '\0') {
        size_t length = utf8_character(text);
        size_t bytes = length > 0 ? length : REPLACEMENT_BYTES;

        memcpy(clean + used, length > 0 ? text : replacement, bytes);
        used += bytes;
        text += length > 0 ? length : 1;
    }
    clean[used] = '\0';
    return clean;
}
