/* read_text.h - a text file as a string.  Header only. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* All of it; the caller frees it.  NULL: it cannot be read, or is empty. */
static inline char *read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (in == NULL)
        return NULL;
    if (getdelim(&text, &room, '\0', in) < 0) {
        free(text);
        text = NULL;
    }
    fclose(in);
    return text;
}
