/* utf8_clean.c - text that may contain anything, as JSON needs it. */
#include "snapshot/utf8_clean.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_text.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

enum { REPLACEMENT_BYTES = sizeof replacement - 1, CHARACTER_MAX = 4 };

/* The length of the character at p; 0: it is invalid. */
static size_t utf8_length(const char *p)
{
    const unsigned char *at = (const unsigned char *)p;
    size_t left = strnlen(p, CHARACTER_MAX);

    if (at[0] == 0xed && left > 1 && at[1] >= 0xa0) /* a lone surrogate */
        return 0;
    for (size_t n = 1; n <= left; n++) {
        if (snap_utf8_valid(at, n))
            return n;
    }
    return 0;
}

char *utf8_clean(const char *text)
{
    char *clean = malloc(REPLACEMENT_BYTES * strlen(text) + 1);
    size_t used = 0;

    if (clean == NULL)
        return NULL;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        size_t bytes = length > 0 ? length : REPLACEMENT_BYTES;

        memcpy(clean + used, length > 0 ? text : replacement, bytes);
        used += bytes;
        text += length > 0 ? length : 1;
    }
    clean[used] = '\0';
    return clean;
}
