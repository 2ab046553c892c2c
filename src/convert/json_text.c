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

void json_text_write(FILE *out, const char *text, size_t length)
{
    putc('"', out);
    for (size_t i = 0; i < length; i++)
        write_byte(out, (unsigned char)text[i]);
    putc('"', out);
}
