#include "prompt_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 256 };

void prompt_text_free(struct prompt_text *t)
{
    free(t->data);
    memset(t, 0, sizeof *t);
}

void prompt_text_clear(struct prompt_text *t)
{
    t->length = 0;
    t->full = false;
    if (t->data != NULL)
        t->data[0] = '\0';
}

static bool prompt_text_make_room(struct prompt_text *t, size_t more)
{
    size_t wanted = t->capacity > 0 ? t->capacity : FIRST;
    char *grown;

    if (t->full)
        return false;
    while (wanted < t->length + more + 1)
        wanted *= 2;
    if (wanted == t->capacity)
        return true;
    grown = realloc(t->data, wanted);
    if (grown == NULL) {
        t->full = true;
        return false;
    }
    t->data = grown;
    t->capacity = wanted;
    return true;
}

void prompt_text_add(struct prompt_text *t, const char *s, size_t length)
{
    bool too_much = t->length + length > PROMPT_TEXT_MAX;

    if (too_much) {
        s = "...";
        length = 3;
    }
    if (!prompt_text_make_room(t, length))
        return;
    memcpy(t->data + t->length, s, length);
    t->length += length;
    t->data[t->length] = '\0';
    t->full = too_much;
}

void prompt_text_put(struct prompt_text *t, const char *format, ...)
{
    char piece[512];
    char *whole = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (length < 0)
        return;
    if ((size_t)length < sizeof piece) {
        prompt_text_add(t, piece, (size_t)length);
        return;
    }
    whole = malloc((size_t)length + 1);
    if (whole == NULL) {
        t->full = true;
        return;
    }
    va_start(args, format);
    vsnprintf(whole, (size_t)length + 1, format, args);
    va_end(args);
    prompt_text_add(t, whole, (size_t)length);
    free(whole);
}

/* The length of the UTF-8 character at s; 0: it is invalid. */
static size_t utf8_length(const char *s)
{
    unsigned char c = (unsigned char)s[0];
    size_t n = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

    if (c > 0xF4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)s[i] & 0xC0) != 0x80)
            return 0;
    }
    /* Overlong, a surrogate, or beyond the last character. */
    if ((c == 0xE0 && (unsigned char)s[1] < 0xA0) ||
        (c == 0xED && (unsigned char)s[1] > 0x9F) ||
        (c == 0xF0 && (unsigned char)s[1] < 0x90) ||
        (c == 0xF4 && (unsigned char)s[1] > 0x8F))
        return 0;
    return n;
}

void prompt_text_json(struct prompt_text *t, const char *s)
{
    prompt_text_add(t, "\"", 1);
    while (*s != '\0') {
        size_t length = utf8_length(s);
        unsigned char c = (unsigned char)*s;

        if (length == 0)
            prompt_text_put(t, "\\ufffd");
        else if (c == '"' || c == '\\')
            prompt_text_put(t, "\\%c", c);
        else if (c == '\n')
            prompt_text_put(t, "\\n");
        else if (c < 0x20 || c == 0x7F)
            prompt_text_put(t, "\\u%04x", c);
        else
            prompt_text_add(t, s, length);
        s += length > 0 ? length : 1;
    }
    prompt_text_add(t, "\"", 1);
}

const char *prompt_text_of(const struct prompt_text *t)
{
    return t->data != NULL ? t->data : "";
}
