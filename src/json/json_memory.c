/* json_memory.c - see json_memory.h. */
#include "json/json_memory.h"

#include <stdlib.h>

#include "snapshot/plain_text.h"

static _Thread_local bool failed;

static void *json_memory_take(size_t bytes)
{
    void *p = malloc(bytes);

    failed |= p == NULL;
    return p;
}

void json_memory_watch(void)
{
    json_set_alloc_funcs(json_memory_take, free);
    failed = false;
}

bool json_memory_failed(void)
{
    return failed;
}

json_t *utf8_json(const char *text)
{
    char *clean = utf8_clean(text);
    json_t *o = clean != NULL ? json_string(clean) : NULL;

    failed |= clean == NULL;
    free(clean);
    return o;
}

bool json_memory_write(json_t *total, FILE *out, const char *what,
                       struct tool_error *error)
{
    bool ok = failed ||
              (json_dumpf(total, out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0 &&
               putc('\n', out) != EOF) ||
              tool_fail(error, "%s could not be written", what);

    json_decref(total);
    return failed ? tool_fail(error, "not enough host memory for %s", what)
                  : ok;
}

char *json_memory_line(json_t *total)
{
    char *line = failed ? NULL
                        : json_dumps(total, JSON_COMPACT | JSON_ENSURE_ASCII |
                                                JSON_REAL_PRECISION(6));

    json_decref(total);
    if (!failed)
        return line;
    free(line);
    return NULL;
}
