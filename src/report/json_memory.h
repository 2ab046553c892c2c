/* json_memory.h - whether jansson ran out of host memory.
 *
 * jansson silently leaves out a value that it could not create.  Instead of
 * checking every call, the report asks once at the end. */
#ifndef LARDER_REPORT_JSON_MEMORY_H
#define LARDER_REPORT_JSON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "report/explain.h"
#include "trace/tool_error.h"

/* For json_pack's I, whose integers are signed: larger values are clamped. */
static inline json_int_t json_whole(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

/* Start watching the calling thread. */
void json_memory_watch(void);
bool json_memory_failed(void);

/* A file's name, which may contain anything (utf8_clean.h).  NULL: no host
 * memory. */
json_t *json_memory_name(const char *name);

/* What stands out, as {title, text} each. */
json_t *json_findings(const struct report_finding *found, size_t count);

/* Write the object as one line, unless host memory ran out.  `what` names it in
 * errors.  Takes the object, which may be NULL. */
bool json_memory_write(json_t *total, FILE *out, const char *what,
                       struct tool_error *error);

#endif
