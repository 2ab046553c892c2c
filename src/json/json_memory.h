/* json_memory.h - values of JSON, and whether jansson ran out of host memory.
 *
 * jansson silently leaves out a value that it could not create.  Instead of
 * checking every call, who writes JSON asks once at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "trace/tool_error.h"

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

/* A string of text that may contain anything, as a file's name may
 * (plain_text.h).  NULL: no host memory. */
json_t *utf8_json(const char *text);

/* Start watching the calling thread. */
void json_memory_watch(void);
bool json_memory_failed(void);

/* Write the object as one line, unless host memory ran out.  `what` names it in
 * errors.  Takes the object, which may be NULL. */
bool json_memory_write(json_t *total, FILE *out, const char *what,
                       struct tool_error *error);

/* The object as one line without its end, malloc'd, with six digits of reals;
 * NULL: host memory ran out.  Takes the object, which may be NULL. */
char *json_memory_line(json_t *total);
