/* cards.c - cards by name, as devices `sim:NAME` have them. */
#include "cards.h"

#include <stdio.h>
#include <string.h>

#include <larder/larder.h>
#include <larder/sim.h>

/* Nothing is near: what there is. */
static bool fail_with_all(const char *name, struct tool_error *error)
{
    char all[sizeof error->text];
    size_t length = 0;

    all[0] = '\0';
    for (size_t i = 0; larder_sim_card(i) != NULL; i++) {
        const char *names = larder_sim_card(i);
        int n = (int)strcspn(names, ",");

        if (length + (size_t)n + sizeof ", " > sizeof all)
            break;
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%.*s",
                                   i > 0 ? ", " : "", n, names);
    }
    return tool_fail(error,
                     "'%s' is not in the table of cards; expected one "
                     "of %s",
                     name, all);
}

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

        return nearest != NULL
                   ? tool_fail(error, "'%s' is not in the table of cards%s",
                               name, nearest)
                   : fail_with_all(name, error);
    }
    (void)larder_device_get_props(dev, out);
    larder_device_close(dev);
    if (larder_parse_size(name, &bytes) == LARDER_OK &&
        bytes == out->total_bytes)
        return tool_fail(error, "'%s' is a size, and no name of a card", name);
    return true;
}
