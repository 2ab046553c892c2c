/* json_text.c - writes strings as JSON. */
#include "convert/json_text.h"

#include <string.h>

#include "snapshot/plain_text.h"

/* Returns how many bytes were written. */
static size_t write_character(FILE *out, const char *text, size_t length)
{
    unsigned code;
    char begin[4] = "";
    size_t bytes;

    memcpy(begin, text, length < 3 ? length : 3);
    bytes = plain_text_control(begin, &code);
    if (bytes > 0 || *text == '\0')
        fprintf(out, "\\u%04x", code);
    else if (*text == '"' || *text == '\\')
        fprintf(out, "\\%c", *text);
    else
        putc(*text, out);
    return bytes > 0 ? bytes : 1;
}

size_t json_text_surrogate(FILE *out, const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text;

    if (length < 3 || p[0] != 0xed || p[1] < 0xa0)
        return 0;
    fputs("\xef\xbf\xbd", out); /* U+FFFD */
    return 3;
}

void json_text_write(FILE *out, const char *text, size_t length)
{
    size_t i = 0;

    putc('"', out);
    while (i < length) {
        size_t bytes = json_text_surrogate(out, text + i, length - i);

        if (bytes == 0)
            bytes = write_character(out, text + i, length - i);
        i += bytes;
    }
    putc('"', out);
}
