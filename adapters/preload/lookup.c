/* lookup.c - how programs find the driver's calls by name: lookups return the
 * hook if there is one. */
#include "preload_state.h"
#include "lookup.h"
#include "unknown.h"
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

/* Indices for a call, other than the numbers of hooks. */
enum { NOTHING = -1, UNKNOWN = -2 };

static int unless_harmless(const char *name)
{
    return preload_work_is_held() && !preload_is_harmless(name) ? UNKNOWN
                                                                : NOTHING;
}

static int find_symbol(const char *symbol)
{
    for (int i = 0; i < HOOKS; i++) {
        if (strcmp(symbol, hooks[i].symbol) == 0)
            return is_idle(i) ? NOTHING : i;
    }
    return unless_harmless(symbol);
}

static void *stand_in(int which, const char *name, void *found)
{
    if (which == NOTHING)
        return found;
    return which == UNKNOWN ? preload_unknown(name, found)
                            : hook_pointer(which);
}

/* Whether a call of the driver may have this name. */
static bool is_name(const char *name)
{
    return name != NULL && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' &&
           name[2] <= 'Z';
}

/* Another library may have a function of the same name: only symbols found in
 * the driver are replaced. */
void *preload_dlsym_hook(void *handle, const char *name)
{
    void *found;
    int which;

    if (!is_name(name) || is_off())
        return NULL;
    which = find_symbol(name);
    if (which == NOTHING)
        return NULL;
    found = preload_real_dlsym(handle, name);
    return found != NULL && found == preload_driver_symbol(name)
               ? stand_in(which, name, found)
               : NULL;
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

/* A newer driver may have another variant for newer programs, with parameters
 * that the hook does not know. */
static bool is_known_variant(const char *name, void *found, int version,
                             unsigned long long flags)
{
    const struct preload_calls *real = preload_driver();
    void *known = NULL;
    int status = 0;

    if (version <= PRELOAD_KNOWN_VERSION)
        return true;
    if (real->cuGetProcAddress_v2 != NULL)
        (void)real->cuGetProcAddress_v2(name, &known, PRELOAD_KNOWN_VERSION,
                                        flags, &status);
    else
        (void)real->cuGetProcAddress(name, &known, PRELOAD_KNOWN_VERSION,
                                     flags);
    return known == found;
}

static int find_name(const char *name, void *found, int version,
                     unsigned long long flags)
{
    int i = hook_find(name, version, (flags & CUD_LOOKUP_PER_THREAD) != 0);

    if (i < 0)
        return unless_harmless(name);
    if (!is_known_variant(name, found, version, flags))
        return preload_work_is_held() ? UNKNOWN : NOTHING;
    return is_idle(i) ? NOTHING : i;
}

static void replace(const char *name, void **out, int version,
                    unsigned long long flags)
{
    if (name == NULL || out == NULL || *out == NULL || is_off())
        return;
    *out = stand_in(find_name(name, *out, version, flags), name, *out);
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
