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

bool json_memory_write(json_t *total, FILE *out, bool ok, const char *what,
                       struct tool_error *error)
{
    if (ok && !failed &&
        (json_dumpf(total, out, JSON_COMPACT | JSON_ENSURE_ASCII) != 0 ||
         putc('\n', out) == EOF))
        ok = tool_fail(error, "%s could not be written", what);
    json_decref(total);
    return failed ? tool_fail(error, "not enough host memory for %s", what)
                  : ok;
}
