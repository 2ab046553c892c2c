/* utf8_clean.c - text that may contain anything, as JSON needs it. */
#include "snapshot/utf8_clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { REPLACEMENT_BYTES = sizeof UTF8_REPLACEMENT - 1 };

size_t utf8_character(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    return utf8_is_surrogate(p) ? 0 : utf8_length(p, SIZE_MAX);
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

        memcpy(clean + used, length > 0 ? text : UTF8_REPLACEMENT, bytes);
        used += bytes;
        text += length > 0 ? length : 1;
    }
    clean[used] = '\0';
    return clean;
}
