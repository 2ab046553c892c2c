/* ends_with.h - whether a text has an ending. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* With something before it. */
static inline bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t n = strlen(ending);

    return length > n && strcmp(text + length - n, ending) == 0;
}
