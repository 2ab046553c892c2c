/* fail.c - the message of a failure. */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>

/* Per thread, so that threads that fail at once do not mix their messages. */
static _Thread_local char last_error[LARDER_FAIL_MAX];

void larder__set_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
}

void larder__copy_error(char *out, size_t capacity)
{
    snprintf(out, capacity, "%s", last_error);
}

const char *larder_last_error(void)
{
    return last_error;
}

const char *larder_result_name(larder_result r)
{
    switch (r) {
#define X(name, code, text)                                                    \
    case LARDER_##name:                                                        \
        return "LARDER_" #name;
        LARDER_RESULT_MAP(X)
#undef X
    }
    return "LARDER_ERR_?";
}

const char *larder_result_text(larder_result r)
{
    switch (r) {
#define X(name, code, text)                                                    \
    case LARDER_##name:                                                        \
        return text;
        LARDER_RESULT_MAP(X)
#undef X
    }
    return "unknown result";
}

const char *larder_version(void)
{
    return LARDER_VERSION_STRING;
}
