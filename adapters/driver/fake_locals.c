/* fake_locals.c - values that a runtime keeps with a context. */
#include "driver/fake_tables.h"

#include <stdlib.h>

struct local {
    struct local *next;
    cud_context context;
    void *key;
    void *value;
    fake_local_end *end;
};

static struct local *locals;

/* The link to it, or the place to insert it; any key if `key` is NULL. */
static struct local **local_at(cud_context context, const void *key)
{
    struct local **at = &locals;

    while (*at != NULL &&
           ((*at)->context != context || (key != NULL && (*at)->key != key)))
        at = &(*at)->next;
    return at;
}

static cud_context context_of(cud_context context)
{
    return context != NULL ? context : fake_current_context();
}

cud_result fake_local_put(cud_context context, void *key, void *value,
                          fake_local_end *end)
{
    struct local **at;
    struct local *l;

    context = context_of(context);
    if (context == NULL)
        return CUD_INVALID_CONTEXT;
    fake_lock();
    at = local_at(context, key);
    l = *at != NULL ? *at : calloc(1, sizeof *l);
    if (l != NULL) {
        *l = (struct local){l->next, context, key, value, end};
        *at = l;
    }
    fake_unlock();
    return l != NULL ? CUD_SUCCESS : CUD_OUT_OF_MEMORY;
}

/* Take it out of the list; NULL: there is none. */
static struct local *local_take(cud_context context, const void *key)
{
    struct local **at;
    struct local *found;

    fake_lock();
    at = local_at(context, key);
    found = *at;
    if (found != NULL)
        *at = found->next;
    fake_unlock();
    return found;
}

cud_result fake_local_drop(cud_context context, void *key)
{
    free(local_take(context_of(context), key));
    return CUD_SUCCESS;
}

cud_result fake_local_get(void **out, cud_context context, void *key)
{
    const struct local *found;
    cud_result answer = CUD_INVALID_HANDLE;

    fake_lock();
    found = *local_at(context_of(context), key);
    if (found != NULL) {
        *out = found->value;
        answer = CUD_SUCCESS;
    }
    fake_unlock();
    return answer;
}

void fake_locals_end(cud_context context)
{
    struct local *l;

    while ((l = local_take(context, NULL)) != NULL) {
        if (l->end != NULL)
            l->end(context, l->key, l->value);
        free(l);
    }
}
