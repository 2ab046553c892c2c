/* environment.c - see environment.h. */
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>

const char *environment_said(const char *variable)
{
    const char *set = secure_getenv(variable);

    return set != NULL && *set != '\0' ? set : NULL;
}

bool environment_prepend(const char *variable, const char *first)
{
    const char *old = getenv(variable);
    bool has_old = old != NULL && *old != '\0';
    char *both;
    bool ok;

    if (asprintf(&both, "%s%s%s", first, has_old ? ":" : "",
                 has_old ? old : "") < 0)
        return false;
    ok = setenv(variable, both, 1) == 0;
    free(both);
    return ok;
}
