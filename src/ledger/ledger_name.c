/* ledger_name.c - the name of a ledger's shared memory: version, owner and
 * device. */
#include "ledger/ledger_name.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UUID_BYTES = 16 };

void larder__ledger_name(const struct ledger_spec *spec,
                         char out[SHARED_NAME_MAX + 1])
{
    int n =
        snprintf(out, SHARED_NAME_MAX + 1, "/" LEDGER_PREFIX "%c%lu-",
                 spec->is_of_group ? 'g' : 'u',
                 (unsigned long)(spec->is_of_group ? spec->group : geteuid()));

    for (int i = 0; i < UUID_BYTES; i++)
        n += sprintf(out + n, "%02x", spec->uuid[i]);
}

/* After the prefix come u or g, a number, a dash, and the device. */
static const char *uuid_text(const char *id)
{
    const char *p = id + strlen(LEDGER_PREFIX);

    if (strncmp(id, LEDGER_PREFIX, strlen(LEDGER_PREFIX)) != 0 ||
        (*p != 'u' && *p != 'g'))
        return NULL;
    p++;
    if (*p < '0' || *p > '9' || strspn(p, "0123456789") > 10)
        return NULL;
    p += strspn(p, "0123456789");
    return *p == '-' ? p + 1 : NULL;
}

bool larder__ledger_id_is_good(const char *id)
{
    const char *uuid = id == NULL ? NULL : uuid_text(id);

    return uuid != NULL && strlen(uuid) == 2 * UUID_BYTES &&
           strspn(uuid, "0123456789abcdef") == 2 * UUID_BYTES;
}

void larder__ledger_name_of_id(const char *id, struct shared_object *out)
{
    const char *whose = id + strlen(LEDGER_PREFIX);

    snprintf(out->name, sizeof out->name, "/%s", id);
    out->is_of_group = *whose == 'g';
    out->group = (gid_t)strtoul(whose + 1, NULL, 10);
}

void larder__ledger_uuid_of_id(const char *id, unsigned char out[16])
{
    const char *uuid = uuid_text(id);

    for (int i = 0; i < UUID_BYTES; i++)
        (void)sscanf(uuid + (ptrdiff_t)2 * i, "%2hhx", &out[i]);
}

bool larder__ledger_exists(const struct shared_object *o)
{
    char path[sizeof LEDGER_FOLDER + SHARED_NAME_MAX];

    snprintf(path, sizeof path, LEDGER_FOLDER "%s", o->name);
    return access(path, F_OK) == 0;
}
