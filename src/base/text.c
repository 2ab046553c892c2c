/* text.c - builds text in a fixed buffer. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

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

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, row by row. */
size_t larder__text_distance(const char *a, const char *b)
{
    size_t row[LARDER__DISTANCE_MAX + 1];
    size_t width = strlen(b);

    larder__assert(strlen(a) <= LARDER__DISTANCE_MAX &&
                   width <= LARDER__DISTANCE_MAX);
    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t before = row[0]++; /* of the row above, one to the left */

        for (size_t k = 0; k < width; k++) {
            size_t above = row[k + 1];

            row[k + 1] =
                lesser(lesser(above, row[k]) + 1, before + (a[i] != b[k]));
            before = above;
        }
    }
    return row[width];
}
