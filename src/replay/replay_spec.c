/* replay_spec.c - the spec of the device that a replay runs on, for
 * larder_device_open(). */
#include "replay/replay_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char sim_prefix[] = "sim:";

bool replay_spec_is_sim(const char *device)
{
    return strncmp(device, sim_prefix, sizeof sim_prefix - 1) == 0;
}

/* The beginning and length of the value of `key`; NULL: it is not set. */
static const char *spec_value(const char *device, const char *key,
                              size_t *length)
{
    size_t key_length = strlen(key);
    const char *p = device;

    while ((p = strchr(p, ',')) != NULL) {
        p++;
        if (strncmp(p, key, key_length) == 0 && p[key_length] == '=') {
            p += key_length + 1;
            *length = strcspn(p, ",");
            return p;
        }
    }
    return NULL;
}

bool replay_spec_has(const char *device, const char *key)
{
    size_t length;

    return spec_value(device, key, &length) != NULL;
}

/* Whether the replay may choose the kind of events. */
static bool events_are_open(const char *device)
{
    size_t length;
    const char *value = spec_value(device, "events", &length);

    return value == NULL || (length == 4 && memcmp(value, "auto", 4) == 0);
}

/* Copy the spec's keys after its size, except events=auto. */
static void copy_keys(const char *device, char *out)
{
    static const char open[] = ",events=auto";
    const char *p = strchr(device, ',');

    *out = '\0';
    while (p != NULL) {
        size_t length = 1 + strcspn(p + 1, ",");

        if (length != sizeof open - 1 || memcmp(p, open, length) != 0)
            strncat(out, p, length);
        p = p[length] == '\0' ? NULL : p + length;
    }
}

char *replay_spec_make(const char *device, const struct trace *t,
                       uint64_t capacity)
{
    size_t room = strlen(device) + 64;
    size_t size_length = strcspn(device, ",");
    char *spec = malloc(room);
    char *end;

    if (spec == NULL)
        return NULL;
    if (!replay_spec_is_sim(device))
        return strcpy(spec, device);
    if (capacity != 0)
        sprintf(spec, "%s%" PRIu64, sim_prefix, capacity);
    else
        sprintf(spec, "%.*s", (int)size_length, device);
    end = spec + strlen(spec);
    copy_keys(device, end);
    if (!replay_spec_has(device, "backing"))
        strcat(end, ",backing=none");
    if (events_are_open(device))
        strcat(end, t->orders_work ? ",events=manual" : ",events=immediate");
    return spec;
}
