/* cards.c - cards by name, as devices `sim:NAME` have them. */
#include "cards.h"

#include <stdio.h>
#include <string.h>

#include <larder/larder.h>

bool card_find(const char *name, larder_device_props *out,
               struct tool_error *error)
{
    char spec[128];
    larder_device *dev = NULL;
    uint64_t bytes;
    int length = snprintf(spec, sizeof spec, "sim:%s,backing=none", name);

    *out = (larder_device_props){.size = sizeof *out};
    if (strchr(name, ',') != NULL || length >= (int)sizeof spec)
        return tool_fail(error, "'%.80s' is no name of a card", name);
    if (larder_device_open(spec, 0, &dev) != LARDER_OK) {
        const char *nearest = strstr(larder_last_error(), "; did you mean");

        return tool_fail(error, "'%s' is not in the table of cards%s", name,
                         nearest != NULL ? nearest : "");
    }
    (void)larder_device_get_props(dev, out);
    larder_device_close(dev);
    if (larder_parse_size(name, &bytes) == LARDER_OK &&
        bytes == out->total_bytes)
        return tool_fail(error, "'%s' is a size, and no name of a card", name);
    return true;
}
