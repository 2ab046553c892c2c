/* sim_fail.c - the simulated GPU's message for a failure, which its table
 * returns from error_text(). */
#include "device/sim_fail.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char words[256];

void larder__sim_set_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
}

const char *larder__sim_fail_text(void)
{
    return words;
}
