/* plain_text.c - makes text safe for a terminal. */
#include "snapshot/plain_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static bool is_control(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* U+2028 and U+2029 end a line. */
static bool is_direction(unsigned code)
{
    return code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t plain_text_control(const char *text, unsigned *code)
{
    size_t length = utf8_read((const unsigned char *)text, SIZE_MAX, code);

    return *code != 0 && (is_control(*code) || is_direction(*code)) ? length
                                                                    : 0;
}

/* The length of the character that the text begins with; 0: it is none. */
static size_t utf8_character(const char *text)
{
    uint32_t code;
    size_t length = utf8_read((const unsigned char *)text, SIZE_MAX, &code);

    return utf8_is_surrogate(code) ? 0 : length;
}

void plain_text(char *text)
{
    char *to = text;

    while (*text != '\0') {
        unsigned code;
        size_t control = plain_text_control(text, &code);
        size_t whole = utf8_character(text);

        if (whole == 0) {
            *to++ = '?';
            text++;
        } else if (control > 0) {
            *to++ = code >= '\t' && code <= '\r' ? ' ' : '?';
            text += control;
        } else {
            memmove(to, text, whole);
            to += whole;
            text += whole;
        }
    }
    *to = '\0';
}

void plain_text_put(FILE *out, const char *text)
{
    char shown[4096];
    size_t length = strlen(text);

    if (length >= sizeof shown)
        text += length - sizeof shown + 1;
    snprintf(shown, sizeof shown, "%s", text);
    plain_text(shown);
    fputs(shown, out);
}

enum { REPLACEMENT_BYTES = sizeof UTF8_REPLACEMENT - 1 };

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
