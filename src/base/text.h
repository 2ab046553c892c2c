/* text.h - builds text in a fixed buffer.  Private to the library; the layers
 * above use this instead of <stdio.h>. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* What does not fit is cut, but `length` counts the complete text.  The buffer
 * always ends with a NUL. */
struct text {
    char *out;
    size_t capacity;
    size_t length;
};

void larder__text_init(struct text *t, char *out, size_t capacity);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
/* How many letters of a must be changed, added or removed to get b; neither has
 * more than LARDER__DISTANCE_MAX. */
enum {
    LARDER__DISTANCE_MAX = 64
};
size_t larder__text_distance(const char *a, const char *b);

#endif
void larder__text_add(struct text *t, const char *format, ...);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void larder__text_add_list(struct text *t, const char *format, va_list args);

/* Remove everything from `length` on. */
void larder__text_cut(struct text *t, size_t length);
