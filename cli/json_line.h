/* json_line.h - a value as JSON, on a line of its own. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Takes over the value.  False: it is NULL, or it cannot be written. */
static inline bool json_line(FILE *out, json_t *value)
{
    bool ok = value != NULL &&
              json_dumpf(value, out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0;

    json_decref(value);
    putc('\n', out);
    return ok;
}
