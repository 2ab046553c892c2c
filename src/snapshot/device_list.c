/* device_list.c - see device_list.h. */
#include "snapshot/device_list.h"

#include <string.h>

enum { NUMBERS = UINT16_MAX + 1 };

static void note(const struct snapshot *s, uint8_t used[NUMBERS])
{
    for (size_t i = 0; i < s->device_count && i < NUMBERS; i++) {
        if (s->devices[i].count > 0)
            used[i] = 1;
    }
    for (size_t i = 0; i < s->segment_count; i++)
        used[s->segments[i].device] = 1;
}

bool device_list_make(const struct snapshot *s, const struct snapshot *other,
                      struct device_list *out, struct tool_error *error)
{
    uint8_t used[NUMBERS] = {0};

    out->count = 0;
    note(s, used);
    if (other != NULL)
        note(other, used);
    for (size_t i = 0; i < NUMBERS; i++) {
        if (used[i] == 0)
            continue;
        if (out->count == DEVICE_LIST_MAX)
            return tool_fail(error,
                             "more than %d devices have events or segments",
                             DEVICE_LIST_MAX);
        out->numbers[out->count++] = (uint16_t)i;
    }
    if (out->count == 0)
        out->numbers[out->count++] = 0;
    return true;
}
