/* lookup.c - how programs find the driver's calls by name: lookups return the
 * hook if there is one. */
#include "preload_state.h"
#include "lookup.h"
#include "work.h"

#include <string.h>

typedef void any_call(void);

static const struct {
    const char *symbol;
    const char *name;
    int since;
    bool per_thread;
    bool is_work; /* needed only if memory in use can move */
    any_call *hook;
} hooks[] = {
#define X(symbol, name, since, per_thread, arguments)                          \
    {#symbol, name, since, per_thread, false, (any_call *)symbol},
    PRELOAD_HOOK_MAP(X)
#undef X
#define X(symbol, name, since, per_thread, types, params, args)                \
    {#symbol, name, since, per_thread, true, (any_call *)symbol},
        PRELOAD_WORK_MAP(X) PRELOAD_SHARE_MAP(X)
#undef X
};

enum { HOOKS = sizeof hooks / sizeof hooks[0] };

static bool is_off(void)
{
    const struct preload_settings *s = preload_settings_get();

    return s->mode == PRELOAD_OFF && !s->is_gate;
}

static bool is_idle(int i)
{
    return hooks[i].is_work && !preload_work_is_held();
}

static void *hook_pointer(int i)
{
    void *out;

    memcpy(&out, &hooks[i].hook, sizeof out);
    return out;
}

/* Another library may have a function of the same name: only symbols found in
 * the driver are replaced. */
void *preload_dlsym_hook(void *handle, const char *name)
{
    void *found;

    if (name == NULL || name[0] != 'c' || name[1] != 'u')
        return NULL;
    for (int i = 0; i < HOOKS; i++) {
        if (strcmp(name, hooks[i].symbol) != 0)
            continue;
        if (is_off() || is_idle(i))
            return NULL;
        found = preload_real_dlsym(handle, name);
        return found != NULL && found == preload_driver_symbol(name)
                   ? hook_pointer(i)
                   : NULL;
    }
    return NULL;
}

/* The newest variant for a program of this version; a symbol's exact name
 * selects that symbol. -1: none is hooked. */
static int hook_find(const char *name, int version, bool per_thread)
{
    int best = -1;
    int exact = -1;

    for (int i = 0; i < HOOKS; i++) {
        if (strcmp(name, hooks[i].symbol) == 0)
            exact = i;
        if (strcmp(name, hooks[i].name) != 0 || hooks[i].since > version ||
            (hooks[i].per_thread && !per_thread))
            continue;
        if (best < 0 || hooks[i].since > hooks[best].since ||
            (hooks[i].since == hooks[best].since && hooks[i].per_thread))
            best = i;
    }
    return best >= 0 ? best : exact;
}

static void replace(const char *name, void **out, int version,
                    unsigned long long flags)
{
    int i;

    if (name == NULL || out == NULL || *out == NULL || is_off())
        return;
    i = hook_find(name, version, (flags & CUD_LOOKUP_PER_THREAD) != 0);
    if (i >= 0 && !is_idle(i))
        *out = hook_pointer(i);
}

cud_result cuGetProcAddress(const char *name, void **out, int version,
                            unsigned long long flags)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer = CUD_NOT_INITIALIZED;

    if (real != NULL)
        answer =
            PRELOAD_REAL(real, cuGetProcAddress, name, out, version, flags);
    if (answer == CUD_SUCCESS)
        replace(name, out, version, flags);
    return answer;
}

cud_result cuGetProcAddress_v2(const char *name, void **out, int version,
                               unsigned long long flags, int *status)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer = CUD_NOT_INITIALIZED;

    if (real != NULL)
        answer = PRELOAD_REAL(real, cuGetProcAddress_v2, name, out, version,
                              flags, status);
    if (answer == CUD_SUCCESS)
        replace(name, out, version, flags);
    return answer;
}
