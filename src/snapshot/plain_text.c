/* plain_text.c - makes text safe for a terminal. */
#include "snapshot/plain_text.h"

#include <stdbool.h>
#include <string.h>

#include "snapshot/utf8_clean.h"

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
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 1;

    *code = p[0];
    if ((p[0] & 0xe0) == 0xc0 && (p[1] & 0xc0) == 0x80) {
        *code = (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU);
        n = 2;
    } else if ((p[0] & 0xf0) == 0xe0 && (p[1] & 0xc0) == 0x80 &&
               (p[2] & 0xc0) == 0x80) {
        *code = (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
        n = 3;
    } else if (p[0] >= 0x80) {
        return 0;
    }
    return p[0] != '\0' && (is_control(*code) || is_direction(*code)) ? n : 0;
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
