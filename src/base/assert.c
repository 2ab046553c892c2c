/* assert.c - conditions that hold unless this library has a bug. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A single write, without heap memory or stdio's lock: either may be what
 * failed. */
void larder__assert_fail(const char *file, int line, const char *text)
{
    char words[512];
    int length = snprintf(words, sizeof words, "%s:%d: assertion failed: %s\n",
                          file, line, text);

    if (length >= (int)sizeof words)
        length = (int)sizeof words - 1;
    if (length > 0 && write(STDERR_FILENO, words, (size_t)length) < 0)
        abort();
    abort();
}
