#include "convert/json_text.h"

static void write_byte(FILE *out, unsigned char c)
{
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
        fprintf(out, "\\u%04x", c);
    else
        putc(c, out);
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
            write_byte(out, (unsigned char)text[i]);
        i += bytes > 0 ? bytes : 1;
    }
    putc('"', out);
}
