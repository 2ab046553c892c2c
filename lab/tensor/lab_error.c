/* lab_error.c - the message of the last failure, for each thread. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Room for the allocator's explanation of an out-of-memory error, with some
 * text around it. */
enum { ERROR_MAX = 3072 };

/* Per thread, so that threads that fail at once do not mix their messages. */
static _Thread_local char last_error[ERROR_MAX];

const char *lab_last_error(void)
{
    return last_error;
}

void lab__set_error(const char *format, ...)
{
    char text[ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_error, text, strlen(text) + 1);
}

larder_result lab__of_larder(larder_result r)
{
    if (r != LARDER_OK)
        lab__set_error("%s", larder_last_error());
    return r;
}

void lab__set_host_error(uint64_t bytes)
{
    lab__set_error("out of host memory: %" PRIu64 " bytes were requested",
                   bytes);
}
