/* viewer_parts.c - see viewer_parts.h. */
#include "convert/viewer_parts.h"

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

void json_text_write(FILE *out, const struct snapshot *s, uint32_t string)
{
    const char *text = snapshot_string(s, string);
    size_t length = snapshot_string_length(s, string);
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

bool viewer_devices(const struct snapshot *s, size_t device, FILE *out,
                    viewer_device *write, struct tool_error *error)
{
    struct arena arena = {.error = error};
    size_t count = lifetimes_device_count(s);
    bool begun = false;

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    for (size_t i = 0; i < count; i++) {
        if (device != VIEWER_ALL && device != i)
            continue;
        write(&arena, lifetimes_take(&arena, s, i), out, &begun);
        arena_free_since(&arena, NULL);
    }
    return true;
}
