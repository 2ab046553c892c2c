/* json_values.h - values of JSON that replay, tune and top write. */
#ifndef LARDER_REPLAY_JSON_VALUES_H
#define LARDER_REPLAY_JSON_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

#include "snapshot/utf8_clean.h"

/* For json_pack's I, whose integers are signed: larger values are clamped. */
static inline json_int_t json_whole(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

static inline json_t *json_whole_or_null(uint64_t n, bool is_known)
{
    return is_known ? json_integer(json_whole(n)) : json_null();
}

/* null for 0. */
static inline json_t *json_nonzero(uint64_t n)
{
    return json_whole_or_null(n, n != 0);
}

/* A string of text that may contain anything, as a file's name may.  NULL: no
 * host memory. */
static inline json_t *utf8_json(const char *text)
{
    char *clean = utf8_clean(text);
    json_t *o = clean != NULL ? json_string(clean) : NULL;

    free(clean);
    return o;
}

#endif
