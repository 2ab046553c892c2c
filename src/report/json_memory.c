/* json_memory.c - whether jansson ran out of host memory. */
#include "report/json_memory.h"

#include <stdlib.h>

#include "snapshot/utf8_clean.h"

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

json_t *json_memory_name(const char *name)
{
    char *clean = utf8_clean(name);
    json_t *o = clean != NULL ? json_string(clean) : NULL;

    failed |= clean == NULL;
    free(clean);
    return o;
}

json_t *json_findings(const struct report_finding *found, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "title", found[i].title,
                                        "text", found[i].text));
    return list;
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
