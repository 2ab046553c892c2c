#include "base/text.h"

#include <stdio.h>

void larder__text_init(struct text *t, char *out, size_t capacity)
{
    *t = (struct text){.out = out, .capacity = capacity};
    if (capacity > 0)
        out[0] = '\0';
}

void larder__text_add_list(struct text *t, const char *format, va_list args)
{
    size_t room = t->length < t->capacity ? t->capacity - t->length : 0;
    int n = vsnprintf(room > 0 ? t->out + t->length : NULL, room, format, args);

    if (n > 0)
        t->length += (size_t)n;
}

void larder__text_add(struct text *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    larder__text_add_list(t, format, args);
    va_end(args);
}

void larder__text_cut(struct text *t, size_t length)
{
    t->length = length;
    if (length < t->capacity)
        t->out[length] = '\0';
}
