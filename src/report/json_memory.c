#include "report/json_memory.h"

#include <stdlib.h>

#include <jansson.h>

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
